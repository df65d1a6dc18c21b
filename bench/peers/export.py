"""The export loop that most people would write: the standard library, a page after the other, records to stdout.
usage: export.py <base url>"""
import http.client
import json
import sys
from urllib.parse import urlsplit

connection = http.client.HTTPConnection(urlsplit(sys.argv[1]).netloc)
headers = {"Content-Type": "application/json", "X-Service-Account-Id": "BENCH", "X-Service-Passcode": "bench"}


def ask(method, target, body=None):
    connection.request(method, target, body, headers)
    return json.loads(connection.getresponse().read())


query = json.dumps({"event_name": "Charged", "from": 20261001, "to": 20261014})
cursor = ask("POST", "/1/profiles.json?batch_size=4991", query)["cursor"]
while cursor:
    page = ask("GET", "/1/profiles.json?cursor=" + cursor)
    for record in page.get("records", []):
        sys.stdout.write(json.dumps(record) + "\n")
    cursor = page.get("next_cursor")
