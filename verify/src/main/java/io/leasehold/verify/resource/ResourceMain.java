package io.leasehold.verify.resource;

import io.leasehold.fencing.Access;
import io.leasehold.simulator.history.HistoryFile;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Writer;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.StringTokenizer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The protected resource as a separate process: lines over TCP on 127.0.0.1, {@code LOOK counter token} by holders that only read,
 * {@code READ counter token} and {@code WRITE counter token value} by others, answered with {@code OK value} or {@code REFUSED value}.
 *
 * <p>Prints {@code PORT n} when it is ready; ends when its standard input closes.
 */
public final class ResourceMain {

    private static final Logger LOG = LoggerFactory.getLogger(ResourceMain.class);

    private ResourceMain() {}

    /** Argument: the history file. */
    public static void main(String[] args) throws IOException {
        Counters counters = new Counters(HistoryFile.append(Path.of(args[0])), System::nanoTime);
        ServerSocket server = new ServerSocket(0, 100, InetAddress.getLoopbackAddress());
        start("acceptor", () -> accept(server, counters));
        System.out.println("PORT " + server.getLocalPort());
        while (System.in.read() >= 0) {
            // Only the end of the input counts.
        }
        server.close();
        System.exit(0);
    }

    private static void start(String name, Runnable task) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        thread.start();
    }

    private static void accept(ServerSocket server, Counters counters) {
        while (!server.isClosed()) {
            try {
                Socket socket = server.accept();
                start("connection", () -> serve(socket, counters));
            } catch (IOException e) {
                LOG.debug("the resource accepts no more", e);
                return;
            }
        }
    }

    private static void serve(Socket socket, Counters counters) {
        try (socket;
                BufferedReader in =
                        new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8))) {
            socket.setTcpNoDelay(true);
            Writer out = new java.io.OutputStreamWriter(socket.getOutputStream(), StandardCharsets.UTF_8);
            for (String line; (line = in.readLine()) != null; ) {
                StringTokenizer words = new StringTokenizer(line);
                String verb = words.nextToken();
                String counter = words.nextToken();
                long token = Long.parseLong(words.nextToken());
                Counters.Answer answer = switch (verb) {
                    case "WRITE" -> counters.write(counter, token, Long.parseLong(words.nextToken()));
                    case "READ" -> counters.read(counter, token, Access.WRITE);
                    default -> counters.read(counter, token, Access.READ);
                };
                out.write((answer.accepted() ? "OK " : "REFUSED ") + answer.value() + "\n");
                out.flush();
            }
        } catch (IOException e) {
            LOG.debug("a client of the resource is gone", e);
        }
    }
}
