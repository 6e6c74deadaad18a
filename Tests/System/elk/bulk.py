"""A receiver of Elasticsearch's _bulk requests: enough of it to tell what a shipper sends, and nothing more.

It answers as the real one does for data streams: 201 for a new document, 409 for an id that the stream has, 400 for what is
no document or another operation than `create`. It does not check mappings.
"""
import gzip
import http.server
import json
import sys
import threading


class Receiver:
    """The documents of all streams, and the server that takes them; `begin` and `end` may be called again and again."""

    def __init__(self, port=0):
        self.port, self.server = port, None
        self.streams = {}           # by (stream, id): the document's bytes
        self.answers = {}           # how often each status was given to a document
        self.busy = 0               # this many requests get a 429 as a whole
        self.refuses = None         # of the count of documents so far: whether this one gets a 429
        self.fails = 0              # every so many requests get a 503 as a whole
        self.maximum = None         # a body of more bytes gets a 413
        self.authorization = None   # a request with another Authorization gets a 401
        self.requests = 0           # requests to _bulk
        self.put = {}               # by path: what was put
        self.dashboards = None      # "kibana" or "opensearch": this is what answers as well
        self.objects = {}           # by (type, id): saved objects
        self.refused_objects = set()  # ids of saved objects that are refused
        self.lock = threading.Lock()

    def begin(self):
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def answer(self, status, body):
                data = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("X-Elastic-Product", "Elasticsearch")
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(data)

            def do_GET(self):
                if receiver.dashboards and self.path == "/api/status":
                    if receiver.authorization and self.headers.get("Authorization") != receiver.authorization:
                        return self.answer(401, {"statusCode": 401, "error": "Unauthorized", "message": "Unauthorized"})
                    overall = {"level": "available"} if receiver.dashboards == "kibana" else {"state": "green"}
                    number = "8.19.0" if receiver.dashboards == "kibana" else "2.19.1"
                    return self.answer(200, {"name": "receiver", "version": {"number": number}, "status": {"overall": overall}})
                if self.path.endswith("/api/status"):
                    return self.answer(404, {"error": "no such path", "status": 404})
                self.answer(200, {"cluster_name": "receiver", "status": "green", "tagline": "You Know, for Search",
                                  "version": {"number": "8.19.0", "build_flavor": "default"}})

            do_HEAD = do_GET

            def do_PUT(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                receiver.put[self.path] = json.loads(body)
                self.answer(200, {"acknowledged": True})

            def do_POST(self):
                length = int(self.headers.get("Content-Length") or 0)
                if receiver.maximum and length > receiver.maximum:
                    self.close_connection = True
                    return self.answer(413, {"error": "entity content is too large", "status": 413})
                body = self.rfile.read(length)
                if receiver.authorization and self.headers.get("Authorization") != receiver.authorization:
                    return self.answer(401, {"error": {"type": "security_exception", "reason": "missing credentials"}, "status": 401})
                if self.path.startswith("/api/saved_objects/_import"):
                    return self.answer(*receiver.imports(self.path, self.headers, body))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                self.answer(*receiver.take(self.path.split("?")[0].strip("/").split("/"), body))

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            allow_reuse_address = True

            def handle_error(self, request, client_address):
                """A sender that went away is no error of the receiver's."""
                if not isinstance(sys.exc_info()[1], OSError):
                    super().handle_error(request, client_address)

        self.server = Server(("127.0.0.1", self.port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def end(self):
        """Refuses connections from now on."""
        if self.server:
            self.server.shutdown()
            self.server.server_close()
            self.server = None

    def take(self, path, body):
        """What is answered to a request: a status and an object."""
        if path[-1] != "_bulk":
            return 404, {"error": "only _bulk is known here"}
        if not body.endswith(b"\n"):
            return 400, {"error": "a bulk request ends in a line feed"}
        with self.lock:
            self.requests += 1
            if self.fails and self.requests % self.fails == 0:
                return 503, {"error": {"type": "cluster_block_exception", "reason": "no master"}, "status": 503}
            if self.busy > 0:
                self.busy -= 1
                return 429, {"error": {"type": "es_rejected_execution_exception"}, "status": 429}
            items, lines = [], iter(body.split(b"\n")[:-1])
            for line in lines:
                if not line:
                    continue
                try:
                    (operation, action), = json.loads(line).items()
                except ValueError as error:
                    return 400, {"error": str(error), "status": 400}
                stream = action.get("_index") or (path[0] if len(path) > 1 else None)
                item = self.store(operation, stream, action, next(lines, b""))
                self.answers[item["status"]] = self.answers.get(item["status"], 0) + 1
                items.append({operation: item})
        return 200, {"took": 1, "errors": any(next(iter(i.values()))["status"] >= 300 for i in items), "items": items}

    def imports(self, path, headers, body):
        """An import of saved objects, as Kibana and OpenSearch Dashboards take it: a form with one file of NDJSON."""
        header = {"kibana": "kbn-xsrf", "opensearch": "osd-xsrf"}.get(self.dashboards)
        if header is None or path != "/api/saved_objects/_import?overwrite=true":
            return 404, {"statusCode": 404, "error": "Not Found", "message": "Not Found"}
        wrong = lambda message: (400, {"statusCode": 400, "error": "Bad Request", "message": message})
        if header not in headers:
            return wrong("Request must contain a %s header." % header)
        kind, _, boundary = (headers.get("Content-Type") or "").partition("; boundary=")
        if kind != "multipart/form-data" or not boundary:
            return 415, {"statusCode": 415, "error": "Unsupported Media Type", "message": "Unsupported Media Type"}
        parts = body.split(b"--" + boundary.encode())
        if len(parts) != 3 or parts[0] or parts[2].strip() != b"--":
            return wrong("expected one part")
        head, _, data = parts[1].removeprefix(b"\r\n").partition(b"\r\n\r\n")
        if b'name="file"' not in head or b'filename="' not in head or b'.ndjson"' not in head:
            return wrong("[request body.file]: expected value of type [Stream] but got [undefined]")
        try:
            objects = [json.loads(line) for line in data.removesuffix(b"\r\n").split(b"\n") if line]
        except ValueError as error:
            return wrong(str(error))
        known = {"id", "type", "attributes", "references"}
        known |= {"coreMigrationVersion", "typeMigrationVersion"} if self.dashboards == "kibana" else {"migrationVersion"}
        names, errors, stored = {(one["type"], one["id"]) for one in objects}, [], []
        for one in objects:
            error = None
            if set(one) - known or not {"id", "type", "attributes", "references"} <= set(one):
                error = {"type": "unknown", "message": "members %s" % sorted(set(one) ^ known), "statusCode": 400}
            elif one["type"] not in ("index-pattern", "search", "visualization", "dashboard"):
                error = {"type": "unsupported_type"}
            elif one["id"] in self.refused_objects:
                error = {"type": "conflict"}
            else:
                missing = [other for other in one["references"] if (other["type"], other["id"]) not in names]
                if missing:
                    error = {"type": "missing_references", "references": missing}
            if error:
                errors.append({"id": one["id"], "type": one["type"], "title": one["attributes"].get("title"), "error": error})
            else:
                stored.append(one)
        with self.lock:
            for one in stored:
                self.objects[one["type"], one["id"]] = one
        answer = {"success": not errors, "successCount": len(stored),
                  "successResults": [{"type": one["type"], "id": one["id"], "overwrite": True} for one in stored]}
        return 200, dict(answer, errors=errors) if errors else answer

    def store(self, operation, stream, action, line):
        """One document: the item of the answer."""
        name = action.get("_id")
        item = {"_index": stream, "_id": name, "status": 201}
        reason = None
        try:
            document = json.loads(line)
            if "@timestamp" not in document:
                reason = "no @timestamp"
        except ValueError as error:
            reason = str(error)
        if operation != "create":
            reason = "only write ops with an op_type of create are allowed in data streams"
        if "_type" in action or not stream or not name:
            reason = "the action has a type, no stream or no id"
        if reason:
            return dict(item, status=400, error={"type": "illegal_argument_exception", "reason": reason})
        if (stream, name) in self.streams:
            return dict(item, status=409, error={"type": "version_conflict_engine_exception",
                                                 "reason": "[%s]: version conflict, document already exists" % name})
        if self.refuses and self.refuses(sum(self.answers.values())):
            return dict(item, status=429, error={"type": "es_rejected_execution_exception", "reason": "busy"})
        self.streams[stream, name] = line
        return item
