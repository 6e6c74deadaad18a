"""The files of Samples/elk, read by the programs that they are for."""
import json
import os
import re
import shutil
import subprocess

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
SAMPLES = os.path.join(ROOT, "Samples", "elk")


def said(*command):
    done = subprocess.run(command, cwd=SAMPLES, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def reads(report, tool, *command):
    """Whether a program takes a file."""
    if not shutil.which(command[0]):
        report.skipped("%s: %s is not installed" % (tool, command[0]))
        return
    status, text = said(*command)
    report.check("%s takes %s" % (" ".join(command[:3]), command[-1]), status == 0, text)


def yaml_files(report):
    try:
        import yaml
    except ImportError:
        report.skipped("YAML: the Python package yaml is not installed")
        return
    for name in sorted(os.listdir(SAMPLES)):
        if name.endswith((".yml", ".yaml")):
            with open(os.path.join(SAMPLES, name), encoding="utf-8") as file:
                report.check("%s is YAML" % name, isinstance(yaml.safe_load(file), dict))


def balanced(name, text, report):
    """Braces of a file that only Logstash reads; those in quotation marks do not count."""
    bare = re.sub(r'"[^"]*"', '""', re.sub(r"^\s*#.*$", "", text, flags=re.M))
    depth = 0
    for sign in bare:
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if depth < 0:
            break
    report.equal("%s: open braces at the end" % name, depth, 0)


def metrics(binary, report):
    """Whether the rules speak of metrics that there are."""
    with open(os.path.join(ROOT, "man", "imdump-metrics.5"), encoding="utf-8") as file:
        known = dict(re.findall(r"^\.It Li (imdump_\w+) Pq (\w+)", file.read(), re.M))
    names = set(known) | {name + part for name, kind in known.items() if kind in ("histogram", "summary")
                          for part in ("_bucket", "_sum", "_count")}
    for name in ("prometheus-rules.yml", "prometheus-rules-test.yml"):
        with open(os.path.join(SAMPLES, name), encoding="utf-8") as file:
            used = set(re.findall(r"\bimdump_\w+", file.read()))
        report.equal("%s: metrics that nobody has" % name, sorted(used - names), [])


def options(binary, report):
    """Whether imdump has the options that systemd's unit gives it."""
    with open(os.path.join(SAMPLES, "imdump.service"), encoding="utf-8") as file:
        command = file.read().replace("\\\n", " ")
    words = re.search(r"^ExecStart=\S+ (.*)$", command, re.M).group(1).split()
    help_text = subprocess.run([binary, "--help"], stdout=subprocess.PIPE, text=True).stdout
    report.equal("imdump.service: options that there are not",
                 [word for word in words if word.startswith("--") and word + " " not in help_text], [])


def check(binary, folder, report):
    status, text = said(os.path.join(ROOT, "Scripts", "make-kibana"), "--check")
    report.check("kibana.ndjson: references, fields, panels", status == 0, text)
    yaml_files(report)
    with open(os.path.join(SAMPLES, "ingest-pipeline.json"), encoding="utf-8") as file:
        report.check("ingest-pipeline.json has processors", len(json.load(file)["processors"]) > 0)
    with open(os.path.join(SAMPLES, "logstash.conf"), encoding="utf-8") as file:
        balanced("logstash.conf", file.read(), report)
    reads(report, "rules", "promtool", "check", "rules", "prometheus-rules.yml")
    reads(report, "rules", "promtool", "test", "rules", "prometheus-rules-test.yml")
    reads(report, "configuration", "promtool", "check", "config", "prometheus.yml")
    reads(report, "configuration", "amtool", "check-config", "alertmanager.yml")
    metrics(binary, report)
    options(binary, report)
    if shutil.which("systemd-analyze"):
        # The command of the unit need not be installed here.
        unit = os.path.join(folder, "imdump.service")
        with open(os.path.join(SAMPLES, "imdump.service"), encoding="utf-8") as file:
            text = file.read().replace("/usr/local/bin/imdump", binary)
        with open(unit, "w", encoding="utf-8") as file:
            file.write(text)
        status, text = said("systemd-analyze", "verify", "--man=no", unit)
        report.check("systemd-analyze verify takes imdump.service", status == 0 and unit not in text, text)
