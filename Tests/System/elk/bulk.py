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
