"""Raw requests to a gateway, as a client of Trino's protocol sends them."""

from __future__ import annotations

import base64
import http.client
import json
import urllib.parse


class Client:
    """Speaks to one gateway; headers by keyword, as `X-Trino-…`."""

    def __init__(self, url, *, password=None, context=None, **headers):
        self.url = urllib.parse.urlsplit(url)
        self.context = context
        self.headers = {"X-Trino-User": "me", "X-Trino-Catalog": "lake", "X-Trino-Schema": "shop"}
        self.headers["User-Agent"] = "Trino Python Client/tests"
        if password is not None:
            given = base64.b64encode(":".join(password).encode()).decode()
            self.headers["Authorization"] = f"Basic {given}"
            self.headers["X-Trino-User"] = password[0]
        for name, value in headers.items():
            self.headers[f"X-Trino-{name.replace('_', '-')}"] = value

    def connection(self):
        if self.context is not None:
            return http.client.HTTPSConnection(self.url.netloc, context=self.context, timeout=30)
        return http.client.HTTPConnection(self.url.netloc, timeout=30)

    def request(self, method, path, body=None, headers=None):
        connection = self.connection()
        try:
            given = {**self.headers, **(headers or {})}
            connection.request(
                method, path, body, {k: v for k, v in given.items() if v is not None}
            )
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()

    def post(self, sql, **more):
        status, headers, body = self.request("POST", "/v1/statement", sql.encode(), more)
        assert status == 200, (status, body)
        return json.loads(body), headers

    def documents(self, sql, **more):
        found, headers = self.post(sql, **more)
        yield found, headers
        while "nextUri" in found:
            status, headers, body = self.request("GET", self.path(found["nextUri"]))
            assert status == 200, (status, body)
            found = json.loads(body)
            yield found, headers

    def path(self, uri):
        return urllib.parse.urlsplit(uri).path

    def rows(self, sql, **more):
        found = []
        for one, _ in self.documents(sql, **more):
            assert "error" not in one, one["error"]
            found += one.get("data", [])
        return found

    def error(self, sql, **more):
        *_, (last, _) = self.documents(sql, **more)
        return last["error"]
