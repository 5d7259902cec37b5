package io.leasehold.redis.topology;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.spi.StoreUri;
import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Function;

/**
 * A scripted server with the protocol of Redis that answers within microseconds: a master, a replica, a Sentinel or a
 * node of a Cluster. It gives answers that a real server cannot be made to give at a certain moment.
 */
public final class ScriptedRedis implements AutoCloseable {

    /** The longest wait of a test; shorter in a mutation run, where most events do not occur. */
    public static final long LIMIT_SECONDS = Long.getLong("leasehold.test.limit.seconds", 60);

    /** Stands for no answer. */
    public static final String SILENCE = "";

    /** Stands for the end of the connection in place of an answer. */
    public static final String END = "end";

    private final ServerSocket socket;
    private final Map<String, Function<List<String>, String>> answers = new ConcurrentHashMap<>();
    private final List<Client> clients = new CopyOnWriteArrayList<>();
    private final List<List<String>> asked = new CopyOnWriteArrayList<>();
    private volatile String pong = bulks("pong", "");

    public ScriptedRedis() throws IOException {
        socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        says("PING", command -> "+PONG\r\n");
        is("role:master", "cluster_enabled:0");
        daemon(this::accept);
    }

    /** The lines of its {@code INFO}. */
    public ScriptedRedis is(String... lines) {
        String info = "run_id:life" + port() + "\r\nredis_version:7.0.9\r\ntcp_port:" + port() + "\r\n"
                + String.join("\r\n", lines) + "\r\n";
        return says("INFO", command -> bulk(info));
    }

    /** Sets the answer to a command, or to a command with its first argument, as in {@code CLUSTER SLOTS}. */
    public ScriptedRedis says(String command, Function<List<String>, String> answer) {
        answers.put(command, answer);
        return this;
    }

    public ScriptedRedis says(String command, String answer) {
        return says(command, any -> answer);
    }

    /** Restores the original answer to this command. */
    public void saysNothingSpecialTo(String command) {
        answers.remove(command);
    }

    public int port() {
        return socket.getLocalPort();
    }

    public String address() {
        return "127.0.0.1:" + port();
    }

    public RedisUri uri() {
        return RedisUri.parse(StoreUri.parse("redis://" + address()));
    }

    /** The number of times that it has received this command. */
    public long asked(String command) {
        String begin = command.toUpperCase(Locale.ROOT);
        return asked.stream()
                .filter(one -> String.join(" ", one).toUpperCase(Locale.ROOT).startsWith(begin))
                .count();
    }

    /** The number of open connections. */
    public long open() {
        return clients.stream().filter(client -> !client.socket.isClosed()).count();
    }

    /** The number of open connections that listen to a channel. */
    public long listening(String channel) {
        return clients.stream()
                .filter(client -> !client.socket.isClosed() && client.channels.contains(channel))
                .count();
    }

    /** All channels with a listener. */
    public List<String> channels() {
        return clients.stream()
                .filter(client -> !client.socket.isClosed())
                .flatMap(client -> client.channels.stream())
                .toList();
    }

    public void publish(String channel, String message) {
        clients.stream()
                .filter(client -> client.channels.contains(channel))
                .forEach(client -> client.write(
                        array(List.of(bulk(client.sharded ? "smessage" : "message"), bulk(channel), bulk(message)))));
    }

    /** Ends a subscription from the server's side, as when a slot has moved. */
    public void endsSubscription(String channel) {
        clients.stream()
                .filter(client -> client.channels.remove(channel))
                .forEach(client -> client.write(
                        array(List.of(bulk("sunsubscribe"), bulk(channel), ":" + client.channels.size() + "\r\n"))));
    }

    /** Ends the connections that listen. */
    public void endListeners() {
        clients.stream().filter(client -> !client.channels.isEmpty()).forEach(Client::end);
    }

    /** Ends the connections that do not listen. */
    public void endOthers() {
        clients.stream().filter(client -> client.channels.isEmpty()).forEach(Client::end);
    }

    /** Ends the connections that have sent this command. */
    public void endThoseThatAsked(String command) {
        clients.stream().filter(client -> client.asked.contains(command)).forEach(Client::end);
    }

    /** Answers the connections that have sent this command and got no answer. */
    public void say(String command, String answer) {
        clients.stream().filter(client -> client.asked.contains(command)).forEach(client -> client.write(answer));
    }

    /** Sets whether pings of listening connections get no answer. */
    public void hearsNoPing(boolean so) {
        pong = so ? SILENCE : bulks("pong", "");
    }

    public void refusesPings() {
        pong = "-NOPERM this user has no permissions to run the 'ping' command\r\n";
    }

    public void endAll() {
        clients.forEach(Client::end);
    }

    public static String bulk(String text) {
        return "$" + text.getBytes(StandardCharsets.UTF_8).length + "\r\n" + text + "\r\n";
    }

    public static String array(Collection<String> items) {
        return "*" + items.size() + "\r\n" + String.join("", items);
    }

    public static String bulks(String... texts) {
        return array(Arrays.stream(texts).map(ScriptedRedis::bulk).toList());
    }

    public static void until(String what, BooleanSupplier condition) {
        long start = System.nanoTime();
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime() - start).as(what).isLessThan(TimeUnit.SECONDS.toNanos(LIMIT_SECONDS));
            LockSupport.parkNanos(200_000);
        }
    }

    private void accept() {
        try {
            while (true) {
                Client client = new Client(socket.accept());
                clients.add(client);
                daemon(client::serve);
            }
        } catch (IOException closed) {
            endAll();
        }
    }

    private final class Client {
        private final Socket socket;
        private final List<String> channels = new CopyOnWriteArrayList<>();
        private final Set<String> asked = ConcurrentHashMap.newKeySet();
        private volatile boolean sharded;

        Client(Socket socket) {
            this.socket = socket;
        }

        private void end() {
            try {
                socket.close();
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        }

        private void serve() {
            try (socket) {
                InputStream in = new BufferedInputStream(socket.getInputStream());
                for (List<String> command = read(in); command != null; command = read(in)) {
                    ScriptedRedis.this.asked.add(command);
                    asked.add(command.get(0).toUpperCase(Locale.ROOT));
                    String reply = answer(command);
                    if (reply.equals(END)) {
                        return;
                    }
                    write(reply);
                }
            } catch (IOException ended) {
                // One side has closed.
            }
        }

        private String answer(List<String> command) {
            String name = command.get(0).toUpperCase(Locale.ROOT);
            Function<List<String>, String> told = command.size() < 2
                    ? null
                    : answers.get(name + " " + command.get(1).toUpperCase(Locale.ROOT));
            told = told == null ? answers.get(name) : told;
            if (told != null && !(name.equals("PING") && !channels.isEmpty())) {
                return told.apply(command);
            }
            return switch (name) {
                case "SUBSCRIBE", "SSUBSCRIBE" -> {
                    sharded = name.equals("SSUBSCRIBE");
                    channels.add(command.get(1));
                    yield array(List.of(
                            bulk(name.toLowerCase(Locale.ROOT)), bulk(command.get(1)), ":" + channels.size() + "\r\n"));
                }
                case "SUNSUBSCRIBE" -> {
                    channels.remove(command.get(1));
                    yield array(List.of(bulk("sunsubscribe"), bulk(command.get(1)), ":" + channels.size() + "\r\n"));
                }
                case "PING" -> pong;
                case "CLIENT" ->
                    command.size() > 1 && command.get(1).equals("INFO")
                            ? bulk("id=1 addr=127.0.0.1:" + socket.getPort() + " laddr=127.0.0.1:" + port() + " fd=8\n")
                            : "+OK\r\n";
                case "HELLO" -> "-ERR unknown command 'HELLO'\r\n";
                default -> "+OK\r\n";
            };
        }

        private synchronized void write(String reply) {
            try {
                socket.getOutputStream().write(reply.getBytes(StandardCharsets.UTF_8));
            } catch (IOException ended) {
                end();
            }
        }
    }

    /** The next command, or null at the end. */
    private static List<String> read(InputStream in) throws IOException {
        String head = line(in);
        if (head == null) {
            return null;
        }
        List<String> parts = new ArrayList<>();
        for (int i = Integer.parseInt(head.substring(1)); i > 0; i--) {
            int length = Integer.parseInt(line(in).substring(1));
            parts.add(new String(in.readNBytes(length), StandardCharsets.UTF_8));
            in.readNBytes(2);
        }
        return parts;
    }

    private static String line(InputStream in) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int c = in.read(); c >= 0; c = in.read()) {
            if (c == '\n') {
                return line.toString(StandardCharsets.UTF_8).strip();
            }
            line.write(c);
        }
        return null;
    }

    private static void daemon(Runnable task) {
        Thread thread = new Thread(task, "scripted-redis");
        thread.setDaemon(true);
        thread.start();
    }

    @Override
    public void close() throws IOException {
        socket.close();
        endAll();
    }
}
