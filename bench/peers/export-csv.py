"""The same export to CSV: every record flattened to a row of the columns that the first page has, the rest by the csv module.
usage: export-csv.py <base url>"""
import csv
import http.client
import json
import sys
from urllib.parse import urlsplit

connection = http.client.HTTPConnection(urlsplit(sys.argv[1]).netloc)
headers = {"Content-Type": "application/json", "X-Service-Account-Id": "BENCH", "X-Service-Passcode": "bench"}


def ask(method, target, body=None):
    connection.request(method, target, body, headers)
    return json.loads(connection.getresponse().read())


def flatten(record, row, prefix=""):
    for key, value in record.items():
        if isinstance(value, dict):
            flatten(value, row, prefix + key + ".")
        elif isinstance(value, list):
            row[prefix + key] = json.dumps(value)
        else:
            row[prefix + key] = value
    return row


query = json.dumps({"event_name": "Charged", "from": 20261001, "to": 20261014})
cursor = ask("POST", "/1/profiles.json?batch_size=4991", query)["cursor"]
writer = None
while cursor:
    page = ask("GET", "/1/profiles.json?cursor=" + cursor)
    rows = [flatten(record, {}) for record in page.get("records", [])]
    if writer is None:
        columns = dict.fromkeys(column for row in rows for column in row)
        writer = csv.DictWriter(sys.stdout, columns, restval="", extrasaction="ignore")
        writer.writeheader()
    writer.writerows(rows)
    cursor = page.get("next_cursor")
