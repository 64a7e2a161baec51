// SPDX-License-Identifier: Apache-2.0
// Handlers of ZAP in JeroMQ's context: its own ZAuth, or a REP of ours.
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import org.zeromq.SocketType;
import org.zeromq.ZAuth;
import org.zeromq.ZCert;
import org.zeromq.ZContext;
import org.zeromq.ZMQ;
import org.zeromq.ZMQException;
import org.zeromq.ZMsg;

final class Handlers {
    private static final String ADDRESS = "inproc://zeromq.zap.01";

    private Handlers() {}

    // Starts the one that the options name, if any. It admits `admit=NAME:PASSWORD` and the public key
    // `admit-key=Z85`; with `deny` it admits nobody.
    static AutoCloseable start(ZContext context, Map<String, String> options) throws Exception {
        switch (options.getOrDefault("handler", "none")) {
            case "zauth": return startZAuth(context, options);
            case "rep": return startRep(context, options);
            default: return () -> { };
        }
    }

    private static AutoCloseable startZAuth(ZContext context, Map<String, String> options) throws Exception {
        Path directory = Files.createTempDirectory("zauth");
        ZAuth auth = new ZAuth(context);
        if (options.containsKey("deny")) {
            auth.deny("127.0.0.1");
        }
        if (options.containsKey("admit")) {
            Path passwords = directory.resolve("passwords");
            Files.writeString(passwords, options.get("admit").replace(":", "=") + "\n");
            auth.configurePlain("*", passwords.toString());
        }
        if (options.containsKey("admit-key")) {
            Path keys = Files.createDirectory(directory.resolve("keys"));
            new ZCert(options.get("admit-key")).savePublic(keys.resolve("client.cert").toString());
            auth.configureCurve(keys.toString());
        }
        return () -> {
            auth.close();
            removeAll(directory);
        };
    }

    private static void removeAll(Path directory) throws Exception {
        try (java.util.stream.Stream<Path> found = Files.walk(directory)) {
            for (Path path : (Iterable<Path>) found.sorted(java.util.Comparator.reverseOrder())::iterator) {
                Files.delete(path);
            }
        }
    }

    private static AutoCloseable startRep(ZContext context, Map<String, String> options) {
        ZMQ.Socket socket = context.createSocket(SocketType.REP);
        socket.setReceiveTimeOut(50);
        socket.bind(ADDRESS);
        Thread thread = new Thread(() -> answerAll(socket, options));
        thread.start();
        return () -> {
            thread.interrupt();
            thread.join();
            context.destroySocket(socket);
        };
    }

    private static void answerAll(ZMQ.Socket socket, Map<String, String> options) {
        try {
            while (!Thread.currentThread().isInterrupted()) {
                ZMsg request = ZMsg.recvMsg(socket);
                if (request != null) {
                    answer(socket, request, options);
                }
            }
        } catch (ZMQException interrupted) {
            // The interruption may meet the socket itself.
        }
    }

    // A request: version, request id, domain, address, routing id, mechanism, credentials.
    private static void answer(ZMQ.Socket socket, ZMsg request, Map<String, String> options) {
        byte[][] parts = request.stream().map(frame -> frame.getData()).toArray(byte[][]::new);
        String mechanism = new String(parts[5], StandardCharsets.US_ASCII);
        boolean admitted = !options.containsKey("deny") && Arrays.equals(parts[0], "1.0".getBytes());
        if (mechanism.equals("PLAIN")) {
            String given = new String(parts[6], StandardCharsets.US_ASCII) + ":"
                    + new String(parts[7], StandardCharsets.US_ASCII);
            admitted &= given.equals(options.get("admit"));
        } else if (mechanism.equals("CURVE")) {
            admitted &= ZMQ.Curve.z85Encode(parts[6]).equals(options.get("admit-key"));
        }
        ZMsg reply = new ZMsg();
        reply.add(parts[0]);
        reply.add(parts[1]);
        reply.add(admitted ? "200" : "400");
        reply.add(admitted ? "OK" : "refused");
        reply.add(admitted ? "alice" : "");
        reply.add("");
        reply.send(socket);
    }
}
