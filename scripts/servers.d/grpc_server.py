"""The server of internal/driver/grpc/testdata/echo.proto with Python's grpcio: grpc_server.py SET PORT AGE.

SET is a file with a descriptor set. PORT may be 0. At a second port each connection may live for AGE ms.
It prints both ports. Then it answers each line of standard input with what it has counted, and ends with it."""

import sys
import time
from concurrent import futures
from threading import Lock

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

SERVICE = "test.v1.Echo"


class Echo:
    def __init__(self, pool):
        self.answer_type = message_factory.GetMessageClass(pool.FindMessageTypeByName("test.v1.Answer"))
        self.lock = Lock()
        self.counts = dict(calls=0, messages=0, answers=0, deadlines=0, tenants=0)

    def count(self, **more):
        with self.lock:
            for name, n in more.items():
                self.counts[name] += n

    def begin(self, context):
        remaining = context.time_remaining()
        tenant = dict(context.invocation_metadata()).get("x-tenant", "")
        self.count(calls=1, deadlines=int(remaining is not None and remaining < 3600), tenants=int(tenant.startswith("t")))

    def asked(self, asks):
        """Counts messages of a call, with their numbers."""
        for n, ask in enumerate(asks, 1):
            self.count(messages=1)
            yield n, ask

    def answer(self, ask, number, context):
        until = time.monotonic() + ask.wait_ms / 1000
        while time.monotonic() < until and context.is_active():
            time.sleep(0.005)
        if ask.code:
            code = next(c for c in grpc.StatusCode if c.value[0] == ask.code)
            context.abort(code, "höher: 100 %\nnext")
        self.count(answers=1)
        return self.answer_type(name="a" * ask.size if ask.size else ask.name, number=number)

    def unary(self, ask, context):
        self.begin(context)
        for n, ask in self.asked([ask]):
            return self.answer(ask, n, context)

    def server(self, ask, context):
        self.begin(context)
        for _, ask in self.asked([ask]):
            for i in range(ask.count):
                yield self.answer(ask, i + 1, context)

    def client(self, asks, context):
        self.begin(context)
        for n, ask in self.asked(asks):
            pass
        return self.answer(ask, n, context)

    def both(self, asks, context):
        self.begin(context)
        for n, ask in self.asked(asks):
            yield self.answer(ask, n, context)


def serve(echo, pool, port, options):
    s = grpc.server(futures.ThreadPoolExecutor(16), options=options, compression=grpc.Compression.Gzip)
    ask = message_factory.GetMessageClass(pool.FindMessageTypeByName("test.v1.Ask"))
    kinds = {"Unary": grpc.unary_unary_rpc_method_handler, "Server": grpc.unary_stream_rpc_method_handler,
             "Client": grpc.stream_unary_rpc_method_handler, "Both": grpc.stream_stream_rpc_method_handler}
    s.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, {
        name: kind(getattr(echo, name.lower()), ask.FromString, lambda m: m.SerializeToString()) for name, kind in kinds.items()})])
    ready = health.HealthServicer()
    ready.set(SERVICE, health_pb2.HealthCheckResponse.SERVING)
    health_pb2_grpc.add_HealthServicer_to_server(ready, s)
    reflection.enable_server_reflection([SERVICE, reflection.SERVICE_NAME], s, pool=pool)
    bound = s.add_insecure_port(f"127.0.0.1:{port}")
    s.start()
    return s, bound


def main(path, port, age):
    pool = descriptor_pool.DescriptorPool()
    with open(path, "rb") as f:
        for file in descriptor_pb2.FileDescriptorSet.FromString(f.read()).file:
            pool.Add(file)
    echo = Echo(pool)
    one, first = serve(echo, pool, port, [("grpc.so_reuseport", 0)])
    two, second = serve(echo, pool, 0, [("grpc.max_connection_age_ms", int(age)), ("grpc.max_connection_age_grace_ms", 10_000)])
    print(first, second, flush=True)
    for _ in sys.stdin:
        with echo.lock:
            print(*echo.counts.values(), flush=True)
    one.stop(0)
    two.stop(0)


main(*sys.argv[1:])
