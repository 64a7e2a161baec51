// SPDX-License-Identifier: Apache-2.0
// One JeroMQ socket that does what standard input says; ../../../../README.md has the commands.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZEvent;
import org.zeromq.ZFrame;
import org.zeromq.ZMQ;
import org.zeromq.ZMsg;

public final class Role {
    private static final byte[] MARK = "mark".getBytes(StandardCharsets.US_ASCII);
    private static final int EVENT_LIMIT_MS = 15_000;
    private final ZMQ.Socket socket;
    private final ZMQ.Socket monitor;

    private Role(ZMQ.Socket socket, ZMQ.Socket monitor) {
        this.socket = socket;
        this.monitor = monitor;
    }

    private static byte[] part(int message, int part, int size) {
        if (size == 0) {
            return new byte[0];
        }
        byte[] head = (message + "." + part + "|").getBytes(StandardCharsets.US_ASCII);
        byte[] whole = Arrays.copyOf(head, Math.max(size, head.length));
        Arrays.fill(whole, head.length, whole.length, (byte) ('a' + message % 26));
        return whole;
    }

    private static ZMsg message(int number, int size, int parts) {
        ZMsg message = new ZMsg();
        for (int part = 0; part < parts; part++) {
            message.add(part(number, part, size));
        }
        return message;
    }

    private ZMsg receive() {
        ZMsg message = ZMsg.recvMsg(socket);
        if (message == null) {
            throw new IllegalStateException("nothing received");
        }
        return message;
    }

    private static boolean isMark(ZMsg message) {
        return message.size() == 1 && Arrays.equals(message.getFirst().getData(), MARK);
    }

    private static String begin(ZFrame frame) {
        byte[] data = frame.getData();
        return data.length + " bytes, " + new String(data, 0, Math.min(40, data.length), StandardCharsets.US_ASCII);
    }

    private void expect(int number, int size, int parts) {
        ZMsg message = receive();
        while (isMark(message)) {
            message = receive();
        }
        if (message.size() != parts) {
            throw new IllegalStateException(
                "message " + number + " has " + message.size() + " parts, not " + parts);
        }
        int part = 0;
        for (ZFrame frame : message) {
            if (!Arrays.equals(frame.getData(), part(number, part, size))) {
                throw new IllegalStateException("message " + number + " is not the one received: " + begin(frame));
            }
            part++;
        }
    }

    private void send(ZMsg message) {
        if (!message.send(socket)) {
            throw new IllegalStateException("not sent: errno " + socket.errno());
        }
    }

    // Receives events until there is one of that name; returns its value if that is a number.
    private int waitForEvent(String name) {
        StringBuilder seen = new StringBuilder();
        long end = System.nanoTime() + EVENT_LIMIT_MS * 1_000_000L;
        for (ZEvent event; System.nanoTime() < end && (event = ZEvent.recv(monitor)) != null; ) {
            seen.append(' ').append(event.getEvent());
            if (event.getEvent().name().equals(name)) {
                Object value = event.getValue();
                return value instanceof Integer ? (Integer) value : 0;
            }
        }
        throw new IllegalStateException("no event " + name + ", only" + seen);
    }

    private int run(String[] words) {
        if (words[0].equals("event")) {
            return waitForEvent(words[1]);
        }
        int[] number = new int[5];
        for (int i = 1; i < words.length; i++) {
            number[i] = Integer.parseInt(words[i]);
        }
        int first = number[1];
        int end = first + number[2];
        switch (words[0]) {
            case "send":
                for (int i = first; i < end; i++) {
                    send(message(i, number[3], number[4]));
                }
                return number[2];
            case "recv":
                for (int i = first; i < end; i++) {
                    expect(i, number[3], number[4]);
                }
                return number[2];
            case "request":
                for (int i = first; i < end; i++) {
                    send(message(i, number[3], number[4]));
                    expect(i, number[3], number[4]);
                }
                return number[2];
            case "echo":
                for (int i = 0; i < number[1]; i++) {
                    send(receive());
                }
                return number[1];
            case "mark":
                socket.send(MARK);
                return 1;
            case "await":
                while (!isMark(receive())) {
                    continue;
                }
                return 1;
            default:
                throw new IllegalArgumentException("unknown command " + words[0]);
        }
    }

    private static Map<String, String> readOptions(String[] arguments) {
        Map<String, String> options = new HashMap<>();
        for (int i = 3; i < arguments.length; i++) {
            int end = arguments[i].indexOf('=');
            options.put(arguments[i].substring(0, end), arguments[i].substring(end + 1));
        }
        return options;
    }

    private static void require(boolean accepted, String what) {
        if (!accepted) {
            throw new IllegalStateException("JeroMQ refuses the option " + what);
        }
    }

    private static void secure(ZMQ.Socket socket, Map<String, String> options) {
        for (Map.Entry<String, String> option : options.entrySet()) {
            String value = option.getValue();
            byte[] bytes = value.getBytes(StandardCharsets.US_ASCII);
            boolean accepted = true;
            switch (option.getKey()) {
                case "plain-server": accepted = socket.setPlainServer(true); break;
                case "plain-username": accepted = socket.setPlainUsername(value); break;
                case "plain-password": accepted = socket.setPlainPassword(value); break;
                case "curve-server": accepted = socket.setCurveServer(true); break;
                case "curve-public": accepted = socket.setCurvePublicKey(bytes); break;
                case "curve-secret": accepted = socket.setCurveSecretKey(bytes); break;
                case "curve-serverkey": accepted = socket.setCurveServerKey(bytes); break;
                case "zap-domain": accepted = socket.setZAPDomain(value); break;
                default: break;
            }
            require(accepted, option.getKey());
        }
    }

    private static void subscribe(ZMQ.Socket socket, SocketType type, String topics) {
        // Without a limit the end of an empty list would be no topic at all.
        for (String topic : topics.split(",", -1)) {
            if (type == SocketType.SUB) {
                socket.subscribe(topic);
            } else {
                socket.send(("\u0001" + topic).getBytes(StandardCharsets.US_ASCII));
            }
        }
    }

    private static ZMQ.Socket watch(ZContext context, ZMQ.Socket socket) {
        require(socket.monitor("inproc://events", ZMQ.EVENT_ALL), "monitor");
        ZMQ.Socket monitor = context.createSocket(SocketType.PAIR);
        monitor.setReceiveTimeOut(EVENT_LIMIT_MS);
        monitor.connect("inproc://events");
        return monitor;
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, String> options = readOptions(arguments);
        try (ZContext context = new ZContext();
             AutoCloseable handler = Handlers.start(context, options)) {
            context.setLinger(5000);
            SocketType type = SocketType.valueOf(arguments[0].toUpperCase(Locale.ROOT));
            ZMQ.Socket socket = context.createSocket(type);
            // On a busy machine JeroMQ now and then connects and never sends its greeting, to the genuine library as
            // well. It connects again when this time is up.
            socket.setHandshakeIvl(3000);
            secure(socket, options);
            if (options.containsKey("curve-secret")) {
                // Each time its queue has been full, JeroMQ 0.6.0 delivers one message without decrypting it, from
                // the genuine library as well.
                socket.setRcvHWM(0);
            }
            ZMQ.Socket monitor = watch(context, socket);
            if (type == SocketType.SUB || type == SocketType.XSUB) {
                subscribe(socket, type, options.getOrDefault("subscribe", ""));
            }
            if (arguments[1].equals("bind")) {
                socket.bind(arguments[2]);
            } else {
                socket.connect(arguments[2]);
            }
            System.out.println("ready");
            BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
            Role role = new Role(socket, monitor);
            for (String line; (line = input.readLine()) != null && !line.equals("quit"); ) {
                try {
                    System.out.println("done " + role.run(line.split(" ")));
                } catch (RuntimeException problem) {
                    System.out.println("error " + problem);
                }
            }
        }
    }
}
