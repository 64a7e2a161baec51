// SPDX-License-Identifier: Apache-2.0
// One JeroMQ socket that does what standard input says; ../../../../README.md has the commands.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Locale;
import org.zeromq.SocketType;
import org.zeromq.ZContext;
import org.zeromq.ZFrame;
import org.zeromq.ZMQ;
import org.zeromq.ZMsg;

public final class Role {
    private static final byte[] MARK = "mark".getBytes(StandardCharsets.US_ASCII);
    private final ZMQ.Socket socket;

    private Role(ZMQ.Socket socket) {
        this.socket = socket;
    }

    private static byte[] part(int message, int part, int size) {
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
                throw new IllegalStateException("message " + number + " is not the one received");
            }
            part++;
        }
    }

    private void send(ZMsg message) {
        if (!message.send(socket)) {
            throw new IllegalStateException("not sent: errno " + socket.errno());
        }
    }

    private int run(String[] words) {
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

    public static void main(String[] arguments) throws Exception {
        try (ZContext context = new ZContext()) {
            context.setLinger(5000);
            SocketType type = SocketType.valueOf(arguments[0].toUpperCase(Locale.ROOT));
            ZMQ.Socket socket = context.createSocket(type);
            // On a busy machine JeroMQ now and then connects and never sends its greeting, to the genuine library as
            // well. It connects again when this time is up.
            socket.setHandshakeIvl(3000);
            if (type == SocketType.SUB) {
                socket.subscribe("");
            } else if (type == SocketType.XSUB) {
                socket.send(new byte[] {1});
            }
            if (arguments[1].equals("bind")) {
                socket.bind(arguments[2]);
            } else {
                socket.connect(arguments[2]);
            }
            System.out.println("ready");
            BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
            Role role = new Role(socket);
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
