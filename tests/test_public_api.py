"""The public surface, on purpose."""

import coldpress


def test_what_the_package_offers() -> None:
    assert coldpress.__all__ == ["Artifact", "ColdpressError", "__version__", "build"]
    for name in coldpress.__all__:
        assert hasattr(coldpress, name)


def test_errors_have_one_root() -> None:
    from coldpress import errors

    for name, value in vars(errors).items():
        if isinstance(value, type) and value.__module__ == errors.__name__:
            assert issubclass(value, coldpress.ColdpressError)
            assert name in (errors.__doc__ or ""), f"{name} is missing from the tree in errors.py"
