// SPDX-License-Identifier: Apache-2.0
//
// A publisher for web pages: four sensors over a WebSocket, thousands of values a second. A message has two
// parts: the sensor's name, by which to subscribe, and a text "<sequence number> <value>", where the
// numbers of each sensor count from 1. web/example/ is the page; docs/websocket.md tells how to try it.
//
//   live_feed [ENDPOINT [MESSAGES_PER_SECOND [SECONDS]]]
#include <zmq.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { sensors = 4 };

static const char* const names[sensors] = {"north", "east", "south", "west"};
static double values[sensors] = {20, 40, 60, 80};

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

// A random walk that is drawn back to where it began.
static double next_value(int sensor) {
    const double centre = 20.0 * (sensor + 1);
    const double step = (double)rand() / RAND_MAX - 0.5;
    values[sensor] += step * 0.7 + (centre - values[sensor]) * 0.001;
    return values[sensor];
}

int main(int argc, char** argv) {
    const char* endpoint = argc > 1 ? argv[1] : "ws://127.0.0.1:5555";
    const double rate = argc > 2 ? atof(argv[2]) : 5000;
    const double duration_s = argc > 3 ? atof(argv[3]) : 0; // 0: for ever
    if (rate <= 0) {
        fprintf(stderr, "usage: live_feed [ENDPOINT [MESSAGES_PER_SECOND [SECONDS]]]\n");
        return 2;
    }

    void* context = zmq_ctx_new();
    void* publisher = zmq_socket(context, ZMQ_PUB);
    // A page may be busy for a moment: it misses nothing unless it is for longer than four seconds.
    const int most_waiting = (int)(4 * rate) + 1000;
    zmq_setsockopt(publisher, ZMQ_SNDHWM, &most_waiting, sizeof most_waiting);
    if (zmq_bind(publisher, endpoint) != 0) {
        fprintf(stderr, "live_feed: %s: %s\n", endpoint, zmq_strerror(zmq_errno()));
        return 1;
    }

    unsigned long long sent = 0;
    const double begin = seconds_now();
    for (double elapsed = 0; duration_s == 0 || elapsed < duration_s; elapsed = seconds_now() - begin) {
        // Whatever is due by now; then a pause of a millisecond.
        for (; (double)sent < elapsed * rate; ++sent) {
            const int sensor = (int)(sent % sensors);
            char body[64];
            const int size = snprintf(body, sizeof body, "%llu %.3f", sent / sensors + 1, next_value(sensor));
            zmq_send(publisher, names[sensor], strlen(names[sensor]), ZMQ_SNDMORE);
            zmq_send(publisher, body, (size_t)size, 0);
        }
        const struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
    }
    printf("sent %llu messages\n", sent);
    zmq_close(publisher);
    zmq_ctx_term(context);
    return 0;
}
