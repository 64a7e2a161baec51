/* SPDX-License-Identifier: Apache-2.0
 * A program that opens the library with dlopen() and closes it again:
 *     late_load LIBRARY reload   many times, without growing
 *     late_load LIBRARY active   with an open context, which goes on working
 *     late_load LIBRARY thread   before a thread that has used it ends
 * Exit status 0: all is as it should be. */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { type_pull = 7, type_push = 8, option_last_endpoint = 32 };

static void* (*ctx_new)(void);
static int (*ctx_term)(void*);
static void* (*open_socket)(void*, int);
static int (*close_socket)(void*);
static int (*bind_to)(void*, const char*);
static int (*connect_to)(void*, const char*);
static int (*get_option)(void*, int, void*, size_t*);
static int (*send_bytes)(void*, const void*, size_t, int);
static int (*receive_bytes)(void*, void*, size_t, int);

static void expect(int holds, const char* what)
{
    if (holds)
        return;
    fprintf(stderr, "not as it should be: %s\n", what);
    exit(1);
}

static void find(void* library, void* function, const char* name)
{
    void* const found = dlsym(library, name);
    expect(found != NULL, name);
    memcpy(function, &found, sizeof found);
}

static void* load(const char* path)
{
    void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        fprintf(stderr, "%s\n", dlerror());
    expect(library != NULL, "dlopen");
    find(library, &ctx_new, "zmq_ctx_new");
    find(library, &ctx_term, "zmq_ctx_term");
    find(library, &open_socket, "zmq_socket");
    find(library, &close_socket, "zmq_close");
    find(library, &bind_to, "zmq_bind");
    find(library, &connect_to, "zmq_connect");
    find(library, &get_option, "zmq_getsockopt");
    find(library, &send_bytes, "zmq_send");
    find(library, &receive_bytes, "zmq_recv");
    return library;
}

static void* context;
static void* receiver;
static void* sender;

static void exchange(void)
{
    char text[8] = "";
    for (int i = 0; i < 20; ++i) {
        expect(send_bytes(sender, "hello", 5, 0) == 5, "zmq_send");
        expect(receive_bytes(receiver, text, sizeof text, 0) == 5, "zmq_recv");
    }
}

static void open_all(void)
{
    char endpoint[100];
    size_t bytes = sizeof endpoint;
    context = ctx_new();
    receiver = open_socket(context, type_pull);
    sender = open_socket(context, type_push);
    expect(bind_to(receiver, "tcp://127.0.0.1:*") == 0, "zmq_bind");
    expect(get_option(receiver, option_last_endpoint, endpoint, &bytes) == 0, "zmq_getsockopt");
    expect(connect_to(sender, endpoint) == 0, "zmq_connect");
    exchange();
}

static void close_all(void)
{
    close_socket(sender);
    close_socket(receiver);
    expect(ctx_term(context) == 0, "zmq_ctx_term");
}

static int entries(const char* directory)
{
    int count = 0;
    DIR* const open = opendir(directory);
    expect(open != NULL, directory);
    while (readdir(open))
        ++count;
    closedir(open);
    return count;
}

static int mappings(const char* of)
{
    char line[4096];
    int count = 0;
    FILE* const maps = fopen("/proc/self/maps", "r");
    expect(maps != NULL, "/proc/self/maps");
    while (fgets(line, sizeof line, maps))
        count += strstr(line, of) != NULL;
    fclose(maps);
    return count;
}

static long resident_kib(void)
{
    char line[256];
    long kib = 0;
    FILE* const status = fopen("/proc/self/status", "r");
    expect(status != NULL, "/proc/self/status");
    while (fgets(line, sizeof line, status))
        if (sscanf(line, "VmRSS: %ld kB", &kib) == 1)
            break;
    fclose(status);
    return kib;
}

static void reload(const char* path)
{
    enum { warm_up = 20, rounds = 100, most_growth_kib = 1024 };
    long kib = 0;
    int descriptors = 0;
    int threads = 0;
    int mapped = 0;
    for (int round = 0; round < warm_up + rounds; ++round) {
        if (round == warm_up) {
            kib = resident_kib();
            descriptors = entries("/proc/self/fd");
            threads = entries("/proc/self/task");
            mapped = mappings(path);
        }
        void* const library = load(path);
        open_all();
        close_all();
        expect(dlclose(library) == 0, "dlclose");
    }
    expect(resident_kib() - kib < most_growth_kib, "memory");
    expect(entries("/proc/self/fd") == descriptors, "descriptors");
    expect(entries("/proc/self/task") == threads, "threads");
    expect(mappings(path) == mapped, "mappings");
    expect(mapped > 0, "the library stays mapped");
}

static sem_t has_used;
static sem_t is_closed;

static void* use(void* unused)
{
    open_all();
    close_all();
    sem_post(&has_used);
    sem_wait(&is_closed);
    return unused;
}

static void end_thread_later(const char* path)
{
    void* const library = load(path);
    pthread_t thread;
    sem_init(&has_used, 0, 0);
    sem_init(&is_closed, 0, 0);
    expect(pthread_create(&thread, NULL, use, NULL) == 0, "pthread_create");
    sem_wait(&has_used);
    expect(dlclose(library) == 0, "dlclose");
    sem_post(&is_closed);
    expect(pthread_join(thread, NULL) == 0, "pthread_join");
}

int main(int count, char** arguments)
{
    expect(count == 3, "usage: late_load LIBRARY reload|active|thread");
    if (strcmp(arguments[2], "reload") == 0) {
        reload(arguments[1]);
    } else if (strcmp(arguments[2], "active") == 0) {
        void* const library = load(arguments[1]);
        open_all();
        expect(dlclose(library) == 0, "dlclose");
        exchange();
        close_all();
    } else {
        end_thread_later(arguments[1]);
    }
    return 0;
}
