# SPDX-License-Identifier: Apache-2.0
"""Users for Locust that need no server: they only report requests to the master."""

from locust import User, constant, task


class Reporter(User):
    wait_time = constant(0.05)

    @task
    def report(self):
        self.environment.events.request.fire(request_type="none", name="report", response_time=1,
                                             response_length=1, exception=None, context={})
