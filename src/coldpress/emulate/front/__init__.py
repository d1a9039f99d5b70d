"""What people and programs speak to: the Invoke API, the Function URL, the page."""
