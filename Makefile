# Two commands set everything up on a fresh machine: `make demo` runs the main job, `make test` passes the tests.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
# The tests that compare documents with the tree, of which `make check` waits two seconds.
DOCUMENT_TESTS := $(patsubst %,tests/architecture/test_%.py,architecture_page paths_in_documents papers public_names)
# How many processes run the tests: as many as there are cores, 0 for none but pytest itself.
WORKERS ?= auto
SHELL := /bin/bash
# With this set, each worker of the tests, and each command that a test starts, would compile its modules anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help setup demo test campaign sim check fix bench bench-toolkit bench-gate audit onefile messages proto records clean

help: ## show what there is
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 22

setup: $(STAMP) ## make .venv with everything in it (the command is .venv/bin/kraft)

$(STAMP): pyproject.toml constraints.txt
	@PYTHON="$(PYTHON)" VENV="$(VENV)" bash deploy/setup.sh
	@touch $(STAMP)

demo: $(STAMP) ## run the main job: three controllers, two broker agents, one log, one Spark verdict
	@$(BIN)/kraft demo $(ARGS)

test: $(STAMP) ## pass the tests (5 minutes on two cores)
	@$(BIN)/python -m pytest tests -m "not campaign" -n $(WORKERS) $(ARGS)

campaign: $(STAMP) ## the slower suites: real faults, process kills, real Kafka's tools; LONG=1 for the long ones
	@LONG="$(LONG)" $(BIN)/python -m pytest tests -m campaign -n $(WORKERS) --timeout 1200 $(ARGS)

sim: $(STAMP) ## simulate whole clusters: SEED=n runs one scenario (KEEP=, CHANGE= as it prints), MINUTES=m fresh ones
	@$(BIN)/python -m tests.simulation $(if $(SEED),--seed $(SEED),--minutes $(or $(MINUTES),1) --workers \
		$(or $(filter-out auto,$(WORKERS)),2)) $(if $(KEEP),--keep $(KEEP)) $(if $(CHANGE),--change $(CHANGE)) $(ARGS)

check: $(STAMP) ## lint, types, import contracts, generated files fresh, sizes, documents, prose; never writes; runs all, then fails
	@failed=0; run() { "$$@" || { echo "check: failed: $$*" >&2; failed=1; }; }; \
	run $(BIN)/ruff check --no-fix --no-cache .; \
	run $(BIN)/ruff format --check --no-cache .; \
	run $(BIN)/mypy; \
	run $(BIN)/lint-imports --no-cache; \
	run $(BIN)/python -m metadata_log.records.generate --check; \
	run $(BIN)/python proto/generate.py --check; \
	run $(BIN)/python -m tests.kafka_releases.config_keys --check; \
	run $(BIN)/python tests/architecture/sizes.py --check; \
	run $(BIN)/python tests/architecture/changelog.py; \
	run $(BIN)/python tests/architecture/pages.py; \
	run $(BIN)/python -m pytest -q -n 0 $(DOCUMENT_TESTS); \
	run $(BIN)/python tests/architecture/prose_report.py . --baseline tests/architecture/prose.json --since d572b3a; \
	exit $$failed

fix: $(STAMP) ## let ruff mend what it can, and write the generated files anew
	@$(BIN)/python -m metadata_log.records.generate
	@$(BIN)/python proto/generate.py
	@$(BIN)/python -m tests.kafka_releases.config_keys
	@$(BIN)/ruff check --fix . ; $(BIN)/ruff format .

bench: $(STAMP) ## measure, beside etcd, ZooKeeper and Kafka (Go, Java, Maven; says what is absent); without ARGS the toolkit, too
	@$(BIN)/python -m compileall -q kraft metadata_log pyspark_kraft quorum broker_agent
	@$(BIN)/python -m benchmarks.quorum_bench $(ARGS)
	@$(if $(ARGS),,$(BIN)/python -m benchmarks.toolkit_bench)

bench-toolkit: $(STAMP) ## measure the toolkit alone, beside Apache Kafka's own tools (needs Java and Maven)
	@$(BIN)/python -m benchmarks.toolkit_bench $(ARGS)

bench-gate: $(STAMP) ## measure this tree beside the previous release; fails if a row is slower (35 minutes, a quiet machine)
	@$(BIN)/python -m benchmarks.gate $(ARGS)

audit: $(STAMP) ## look the installed packages up among known vulnerabilities, by hand (needs the network)
	@$(PYTHON) -m venv .cache/audit && .cache/audit/bin/pip install -q pip-audit
	@.cache/audit/bin/pip-audit --skip-editable --path $(VENV)/lib/python3.*/site-packages

onefile: ## build one executable that needs no Python, build/onefile/kraft-* (Linux, gcc, zlib1g-dev, the network)
	@$(PYTHON) deploy/onefile/build.py $(ARGS)

messages: $(STAMP) ## write build/messages.md: all errors, findings, advice and lines of the log, for a reader of their tone
	@$(BIN)/python tests/architecture/messages_page.py .

proto: $(STAMP) ## write kraft/v1 anew, from proto/kraft/v1/*.proto
	@$(BIN)/python proto/generate.py

records: $(STAMP) ## write the records' codecs anew, from metadata_log/records/declarations
	@$(BIN)/python -m metadata_log.records.generate

clean: ## remove what was built here
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build demo-out
