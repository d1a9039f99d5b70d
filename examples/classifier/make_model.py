"""Teach MiniLM to sort mails: four classes, learned from mails.tsv, saved as transformers saves any model."""

import json
from pathlib import Path

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from coldpress.intake.demo import demo_folder

# Where the hub can be reached, its name does as well: "sentence-transformers/all-MiniLM-L6-v2".
BASE = demo_folder("demo:minilm")
STEPS = 200


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)  # so little work is slower when it is shared
    lines = Path("mails.tsv").read_text(encoding="utf-8").splitlines()
    desks, texts = zip(*(line.split("\t") for line in lines), strict=True)
    labels = sorted(set(desks))
    tokenizer = AutoTokenizer.from_pretrained(BASE)
    model = AutoModelForSequenceClassification.from_pretrained(
        BASE, id2label=dict(enumerate(labels)), label2id={label: at for at, label in enumerate(labels)}
    )

    # What MiniLM knows stays as it is: it reads each mail once, and only the layers after it learn.
    with torch.no_grad():
        read = model.bert(**tokenizer([*texts], padding=True, return_tensors="pt")).last_hidden_state
    right = torch.tensor([labels.index(desk) for desk in desks])
    learning = [*model.bert.pooler.parameters(), *model.classifier.parameters()]
    optimizer = torch.optim.AdamW(learning, lr=1e-3, weight_decay=0.1)
    loss = torch.nn.CrossEntropyLoss()
    model.train()
    for _ in range(STEPS):
        guessed = model.classifier(model.dropout(model.bert.pooler(read)))
        optimizer.zero_grad()
        loss(guessed, right).backward()
        optimizer.step()

    model.eval()
    model.save_pretrained("model")
    tokenizer.save_pretrained("model")
    # By these the build judges whether the pressed model still answers as this one does.
    Path("samples.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    sure = model.classifier(model.bert.pooler(read)).argmax(-1) == right
    print(f"model/ has learned {len(labels)} desks; {int(sure.sum())} of {len(texts)} mails are sorted right")


if __name__ == "__main__":
    main()
