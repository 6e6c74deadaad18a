# make run      decode a sample capture
# make test     build and run the tests
# make check    everything a change has to pass
# make install  put imdump, its man pages and its completions under PREFIX
# make docs     the documentation of the libraries, in .build/documentation
# make deb      a Debian package of imdump and impeer, in .build
# make clean    take away what was built

PREFIX  ?= /usr/local
DESTDIR ?=
SWIFT   ?= swift
BIN     := .build/release/imdump
PEER    := .build/release/impeer
INTO    := $(DESTDIR)$(PREFIX)
.PHONY: run build impeer test check docs install deb clean setup

STRIP ?= strip

# Nobody looks for a symbol in the command: without their names it is half a megabyte smaller and starts sooner. Functions of
# the same code are one: a quarter of a megabyte. Packed relocations, which glibc reads from 2.36 on, save three quarters.
ifeq ($(shell uname -s),Linux)
LINK := -Xswiftc -use-ld=lld -Xlinker --no-export-dynamic -Xlinker --icf=all
glibc := $(lastword $(subst ., ,$(shell getconf GNU_LIBC_VERSION 2>/dev/null)))
ifeq ($(shell test "$(glibc)" -ge 36 2>/dev/null && echo yes),yes)
LINK += -Xlinker -z -Xlinker pack-relative-relocs
endif
endif

run: build
	$(BIN) -r Samples/tjp-weak-network.pcap

# Only this product: the tests and their helpers stay unbuilt. With Swift's libraries inside, so that the command runs
# where no Swift is, and starts sooner.
build: setup
	$(SWIFT) build -c release --static-swift-stdlib --product imdump $(LINK)

# The other end of the wire: a server, a chat and a load for imdump's protocol tjp.
impeer: setup
	$(SWIFT) build -c release --static-swift-stdlib --product impeer $(LINK)

test: setup
	SWIFT=$(SWIFT) Scripts/test

check: setup
	Scripts/check

docs: setup
	$(SWIFT) build --target IMEndpoint
	$(SWIFT) build --target IMMailbox
	SWIFT=$(SWIFT) Scripts/make-docs

setup:
	@Scripts/setup

# After "make build" this asks for nothing but the right to write under PREFIX: sudo make install
install:
	@test -x $(BIN) || { echo "make install: run 'make build' first" >&2; exit 1; }
	install -D -m 755 $(BIN) "$(INTO)/bin/imdump"
	$(STRIP) "$(INTO)/bin/imdump"
	@test ! -x $(PEER) || \
	  { install -D -m 755 $(PEER) "$(INTO)/bin/impeer" && $(STRIP) "$(INTO)/bin/impeer"; }
	@for page in man/*.[1-8]; do \
	  test -e "$$page" || continue; \
	  install -D -m 644 "$$page" "$(INTO)/share/man/man$${page##*.}/$${page##*/}"; \
	done
	@install -d "$(INTO)/share/bash-completion/completions" "$(INTO)/share/zsh/site-functions" \
	  "$(INTO)/share/fish/vendor_completions.d"
	$(BIN) completion bash >"$(INTO)/share/bash-completion/completions/imdump"
	$(BIN) completion zsh >"$(INTO)/share/zsh/site-functions/_imdump"
	$(BIN) completion fish >"$(INTO)/share/fish/vendor_completions.d/imdump.fish"
	@test ! -x $(PEER) || { \
	  $(PEER) completion bash >"$(INTO)/share/bash-completion/completions/impeer" && \
	  $(PEER) completion zsh >"$(INTO)/share/zsh/site-functions/_impeer" && \
	  $(PEER) completion fish >"$(INTO)/share/fish/vendor_completions.d/impeer.fish"; }

deb: build impeer
	Scripts/make-deb

clean:
	rm -rf .build .build-*
