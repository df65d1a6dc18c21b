"""The uploader that most people would write: the standard library, a chunk of 1000 after the other.
usage: upload.py <file.csv|file.ndjson> <base url>"""
import csv
import http.client
import json
import sys
from urllib.parse import urlsplit

CHUNK = 1000
path, base_url = sys.argv[1:]
connection = http.client.HTTPConnection(urlsplit(base_url).netloc)


def records_of_csv(file):
    for row in csv.DictReader(file):
        identity = row.pop("identity")
        data = {key: value for key, value in row.items() if value != ""}
        if "MSG-email" in data:
            data["MSG-email"] = data["MSG-email"] == "true"
        yield {"identity": identity, "type": "profile", "profileData": data}


def records_of_ndjson(file):
    for line in file:
        yield json.loads(line)


def send(records):
    headers = {"Content-Type": "application/json", "X-Service-Account-Id": "BENCH", "X-Service-Passcode": "bench"}
    connection.request("POST", "/1/upload", json.dumps({"d": records}), headers)
    answer = json.loads(connection.getresponse().read())
    if answer["processed"] != len(records):
        sys.exit(f"{answer['processed']} of {len(records)} processed")


with open(path, newline="", encoding="utf-8") as file:
    chunk = []
    for record in records_of_csv(file) if path.endswith(".csv") else records_of_ndjson(file):
        chunk.append(record)
        if len(chunk) == CHUNK:
            send(chunk)
            chunk = []
    if chunk:
        send(chunk)
