import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.Descriptors.MethodDescriptor;
import com.google.protobuf.DynamicMessage;
import io.grpc.Context;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.ServerInterceptors;
import io.grpc.ServerServiceDefinition;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
import io.grpc.health.v1.HealthCheckResponse.ServingStatus;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.ProtoFileDescriptorSupplier;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.protobuf.services.HealthStatusManager;
import io.grpc.protobuf.services.ProtoReflectionServiceV1;
import io.grpc.stub.ServerCallStreamObserver;
import io.grpc.stub.ServerCalls;
import io.grpc.stub.StreamObserver;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The server of internal/driver/grpc/testdata/echo.proto with grpc-java: GrpcServer.java SET PORT AGE. SET is a file with a
 * descriptor set. PORT may be 0. At a second port each connection may live for AGE ms. It prints both ports. Then it
 * answers each line of standard input with what it has counted, and ends with it.
 */
class GrpcServer {
    static final String SERVICE = "test.v1.Echo";
    static final AtomicLong calls = new AtomicLong(), messages = new AtomicLong(), answers = new AtomicLong(), deadlines = new AtomicLong(), tenants = new AtomicLong();
    static Descriptor answerType;

    public static void main(String[] args) throws Exception {
        Map<String, FileDescriptor> files = new HashMap<>();
        FileDescriptor echo = null;
        for (FileDescriptorProto f : FileDescriptorSet.parseFrom(Files.readAllBytes(Path.of(args[0]))).getFileList()) {
            FileDescriptor[] imports = f.getDependencyList().stream().map(files::get).toArray(FileDescriptor[]::new);
            echo = FileDescriptor.buildFrom(f, imports);
            files.put(f.getName(), echo);
        }
        for (FileDescriptor f : files.values()) {
            echo = f.findServiceByName("Echo") != null ? f : echo;
        }
        answerType = echo.findMessageTypeByName("Answer");
        Server first = serve(echo, Integer.parseInt(args[1]), 0), second = serve(echo, 0, Long.parseLong(args[2]));
        System.out.println(first.getPort() + " " + second.getPort());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        while (in.readLine() != null) {
            System.out.println(calls + " " + messages + " " + answers + " " + deadlines + " " + tenants);
        }
        first.shutdownNow();
        second.shutdownNow();
    }

    static Server serve(FileDescriptor file, int port, long age) throws Exception {
        HealthStatusManager health = new HealthStatusManager();
        health.setStatus(SERVICE, ServingStatus.SERVING);
        NettyServerBuilder b = NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", port))
                .addService(ServerInterceptors.intercept(service(file), new Counting())).addService(health.getHealthService())
                .addService(ProtoReflectionServiceV1.newInstance());
        if (age > 0) {
            b.maxConnectionAge(age, TimeUnit.MILLISECONDS).maxConnectionAgeGrace(10, TimeUnit.SECONDS);
        }
        return b.build().start();
    }

    static ServerServiceDefinition service(FileDescriptor file) {
        ServiceDescriptor.Builder described = ServiceDescriptor.newBuilder(SERVICE).setSchemaDescriptor((ProtoFileDescriptorSupplier) () -> file);
        Map<String, io.grpc.MethodDescriptor<DynamicMessage, DynamicMessage>> methods = new HashMap<>();
        for (MethodDescriptor m : file.findServiceByName("Echo").getMethods()) {
            io.grpc.MethodDescriptor<DynamicMessage, DynamicMessage> d = io.grpc.MethodDescriptor.<DynamicMessage, DynamicMessage>newBuilder()
                    .setType(kind(m)).setFullMethodName(SERVICE + "/" + m.getName())
                    .setRequestMarshaller(ProtoUtils.marshaller(DynamicMessage.getDefaultInstance(m.getInputType())))
                    .setResponseMarshaller(ProtoUtils.marshaller(DynamicMessage.getDefaultInstance(m.getOutputType()))).build();
            described.addMethod(d);
            methods.put(m.getName(), d);
        }
        return ServerServiceDefinition.builder(described.build())
                .addMethod(methods.get("Unary"), ServerCalls.asyncUnaryCall((ask, out) -> asked(ask, 1, 1, out)))
                .addMethod(methods.get("Server"), ServerCalls.asyncServerStreamingCall((ask, out) -> asked(ask, 1, (int) number(ask, "count"), out)))
                .addMethod(methods.get("Client"), ServerCalls.asyncClientStreamingCall(out -> new Asks(out, false)))
                .addMethod(methods.get("Both"), ServerCalls.asyncBidiStreamingCall(out -> new Asks(out, true))).build();
    }

    static io.grpc.MethodDescriptor.MethodType kind(MethodDescriptor m) {
        if (m.isClientStreaming()) {
            return m.isServerStreaming() ? io.grpc.MethodDescriptor.MethodType.BIDI_STREAMING : io.grpc.MethodDescriptor.MethodType.CLIENT_STREAMING;
        }
        return m.isServerStreaming() ? io.grpc.MethodDescriptor.MethodType.SERVER_STREAMING : io.grpc.MethodDescriptor.MethodType.UNARY;
    }

    /** Answers one message with n, which begin with that number, and ends the call. */
    static void asked(DynamicMessage ask, int from, int n, StreamObserver<DynamicMessage> out) {
        messages.incrementAndGet();
        for (int i = 0; i < n; i++) {
            if (!answer(ask, from + i, out)) {
                return;
            }
        }
        out.onCompleted();
    }

    static boolean answer(DynamicMessage ask, int number, StreamObserver<DynamicMessage> out) {
        long until = System.nanoTime() + number(ask, "wait_ms") * 1_000_000;
        while (System.nanoTime() < until && !Context.current().isCancelled()) {
            try {
                Thread.sleep(5);
            } catch (InterruptedException e) {
                return false;
            }
        }
        int code = (int) number(ask, "code");
        if (code > 0) {
            out.onError(Status.fromCodeValue(code).withDescription("höher: 100 %\nnext").asRuntimeException());
            return false;
        }
        if (((ServerCallStreamObserver<DynamicMessage>) out).isCancelled()) {
            return false;
        }
        int size = (int) number(ask, "size");
        Object name = size > 0 ? "a".repeat(size) : ask.getField(ask.getDescriptorForType().findFieldByName("name"));
        answers.incrementAndGet();
        out.onNext(DynamicMessage.newBuilder(answerType).setField(answerType.findFieldByName("name"), name)
                .setField(answerType.findFieldByName("number"), number).build());
        return true;
    }

    static long number(DynamicMessage ask, String field) {
        return ((Number) ask.getField(ask.getDescriptorForType().findFieldByName(field))).longValue();
    }

    /** The messages of a call to which the client streams. */
    static class Asks implements StreamObserver<DynamicMessage> {
        final StreamObserver<DynamicMessage> out;
        final boolean each;
        int n;
        DynamicMessage last;

        Asks(StreamObserver<DynamicMessage> out, boolean each) {
            this.out = out;
            this.each = each;
        }

        public void onNext(DynamicMessage ask) {
            messages.incrementAndGet();
            n++;
            last = ask;
            if (each) {
                answer(ask, n, out);
            }
        }

        public void onError(Throwable t) {}

        public void onCompleted() {
            if (each || answer(last, n, out)) {
                out.onCompleted();
            }
        }
    }

    /** Counts calls, and compresses answers for clients that read them. */
    static class Counting implements ServerInterceptor {
        static final Metadata.Key<String> TENANT = Metadata.Key.of("x-tenant", Metadata.ASCII_STRING_MARSHALLER);

        public <Q, A> ServerCall.Listener<Q> interceptCall(ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
            calls.incrementAndGet();
            if (Context.current().getDeadline() != null) {
                deadlines.incrementAndGet();
            }
            if (headers.get(TENANT) != null && headers.get(TENANT).startsWith("t")) {
                tenants.incrementAndGet();
            }
            call.setCompression("gzip"); // grpc-java looks whether the client reads it
            call.setMessageCompression(true);
            return next.startCall(call, headers);
        }
    }
}
