# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium, driven through its DevTools protocol."""

import base64
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from websockets.sync.client import connect

NAMES = ("chromium", "google-chrome-stable", "google-chrome")
START_DEADLINE_S = 60
ANSWER_DEADLINE_S = 30


def find():
    """The program of a browser, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


class PageError(Exception):
    """A program in the page has thrown something."""


class Browser:
    """A process of Chromium with a home of its own, in which it trusts what `trust` was told."""

    def __init__(self, home: Path):
        self.home_ = home
        self.environment_ = dict(os.environ, HOME=str(home))
        for name in [name for name in self.environment_ if name.startswith("XDG_")]:
            del self.environment_[name]
        self.process_ = None

    def trust(self, authority: Path):
        """Makes certificates trusted that the authority has signed. To be called before `start`."""
        database = self.home_ / ".pki/nssdb"
        database.mkdir(parents=True)
        certutil = ["certutil", "-d", f"sql:{database}"]
        subprocess.run([*certutil, "-N", "--empty-password"], check=True)
        subprocess.run([*certutil, "-A", "-t", "C,,", "-n", "development", "-i", str(authority)], check=True)

    def start(self):
        profile = self.home_ / "profile"
        self.process_ = subprocess.Popen(
            [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--disable-extensions",
             "--remote-debugging-port=0", f"--user-data-dir={profile}", "--window-size=1280,800", "about:blank"],
            env=self.environment_, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=(self.home_ / "chromium.log").open("w"), start_new_session=True)
        self.connection_ = connect(self.address_(profile / "DevToolsActivePort"), max_size=None, compression=None)
        self.last_id_ = 0
        self.answers_ = {}
        self.events_ = {}  # by session: the functions that are told

    def address_(self, file):
        deadline = time.monotonic() + START_DEADLINE_S
        while time.monotonic() < deadline and self.process_.poll() is None:
            lines = file.read_text().split("\n") if file.exists() else []
            if len(lines) == 2:
                return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
            time.sleep(0.05)  # there is nothing to wait for but the file
        raise RuntimeError(f"Chromium has not started:\n{(self.home_ / 'chromium.log').read_text()[-4000:]}")

    def begin(self, method, session=None, **parameters):
        """Sends a command; its number, for `answer`."""
        self.last_id_ += 1
        message = {"id": self.last_id_, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        self.connection_.send(json.dumps(message))
        return self.last_id_

    def answer(self, number):
        deadline = time.monotonic() + ANSWER_DEADLINE_S
        while number not in self.answers_:
            message = json.loads(self.connection_.recv(timeout=max(0, deadline - time.monotonic())))
            if "id" in message:
                self.answers_[message["id"]] = message
            else:
                self.events_.get(message.get("sessionId"), lambda *_: None)(message["method"], message["params"])
        message = self.answers_.pop(number)
        if "error" in message:
            raise RuntimeError(message["error"])
        return message["result"]

    def call(self, method, session=None, **parameters):
        return self.answer(self.begin(method, session, **parameters))

    def new_page(self, url):
        return Page(self, url)

    def stop(self):
        if self.process_:
            self.connection_.close()
            os.killpg(self.process_.pid, signal.SIGKILL)
            self.process_.wait()


class Program:
    """A program that runs in a page."""

    def __init__(self, page, number):
        self.page_ = page
        self.number_ = number

    def result(self):
        """What it returns, once it has ended."""
        answer = self.page_.browser_.answer(self.number_)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise PageError(details.get("exception", {}).get("description") or details["text"])
        return answer["result"].get("value")


class Page:
    """A tab. `log` has what the page wrote to its console, and exceptions that nothing caught."""

    def __init__(self, browser, url):
        self.browser_ = browser
        self.log = []
        self.target_ = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session_ = browser.call("Target.attachToTarget", targetId=self.target_, flatten=True)["sessionId"]
        self.loaded_ = False
        browser.events_[self.session_] = self.event_
        for domain in ("Page", "Runtime"):
            self.call(f"{domain}.enable")
        self.open(url)

    def event_(self, method, parameters):
        if method == "Page.loadEventFired":
            self.loaded_ = True
        elif method == "Runtime.consoleAPICalled":
            self.log.append(" ".join(str(each.get("value", each.get("description"))) for each in parameters["args"]))
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.log.append(details.get("exception", {}).get("description") or details["text"])

    def call(self, method, **parameters):
        return self.browser_.call(method, self.session_, **parameters)

    def open(self, url):
        self.loaded_ = False
        self.call("Page.navigate", url=url)
        while not self.loaded_:
            self.run("")

    def start(self, program, **values):
        """Starts the body of an async function, in which the values are known by their names."""
        expression = f"(async ({{{', '.join(values)}}}) => {{{program}\n}})({json.dumps(values)})"
        return Program(self, self.browser_.begin("Runtime.evaluate", self.session_, expression=expression,
                                                 awaitPromise=True, returnByValue=True))

    def run(self, program, **values):
        """Runs such a body, and returns what it returns."""
        return self.start(program, **values).result()

    def prefer(self, colours):
        """`light` or `dark`."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": colours}])

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def start_trace(self):
        """Begins to note what the threads of Chromium do."""
        self.trace_ = []
        self.browser_.events_[None] = lambda method, parameters: self.trace_.append((method, parameters))
        self.browser_.call("Tracing.start", transferMode="ReportEvents",
                           traceConfig={"includedCategories": ["toplevel", "__metadata"]})

    def end_trace(self):
        """How long each task in the main thread of the busiest page has had the processor, in milliseconds."""
        self.browser_.call("Tracing.end")
        while not any(method == "Tracing.tracingComplete" for method, _ in self.trace_):
            self.run("")
        del self.browser_.events_[None]
        events = [event for method, parameters in self.trace_ if method == "Tracing.dataCollected"
                  for event in parameters["value"]]
        tasks = {(event["pid"], event["tid"]): [] for event in events
                 if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"}
        for event in events:
            # The thread's clock jumps at times; what ends the trace has no time yet.
            if event["name"] == "ThreadControllerImpl::RunTask" and "tdur" in event:
                tasks.get((event["pid"], event["tid"]), []).append(min(event["tdur"], event["dur"]) / 1000)
        return max(tasks.values(), key=len)  # Chromium has pages of its own

    def screenshot(self, file: Path):
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot")["data"]))

    def close(self):
        self.browser_.events_.pop(self.session_, None)
        self.browser_.call("Target.closeTarget", targetId=self.target_)
