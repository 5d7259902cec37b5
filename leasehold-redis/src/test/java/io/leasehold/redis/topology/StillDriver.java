package io.leasehold.redis.topology;

import io.leasehold.redis.wire.NotSentException;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.spi.toolkit.CredentialsDesk;
import java.net.InetSocketAddress;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A driver without a server: a test supplies the connections and the answers. Everything happens on the test's thread,
 * so that no test waits.
 */
final class StillDriver implements Driver {

    /** The answer to {@code INFO} of a server in these tests. */
    static final String MASTER = "run_id:life\r\nredis_version:7.0.9\r\nrole:master\r\ncluster_enabled:0\r\n";

    /** Every request for a connection, in order. */
    final List<Asked<RedisConnection>> asked = new ArrayList<>();

    final List<Asked<PushConnection>> askedForPushes = new ArrayList<>();
    final List<Asked<TrackingConnection>> askedForTracking = new ArrayList<>();
    boolean closed;
    /** Whether connections for pushes answer pings at once. */
    boolean pongs;

    /** A request for a connection to a server. */
    record Asked<C>(RedisUri server, CompletableFuture<C> answer) {}

    @Override
    public void logInWith(CredentialsDesk desk) {}

    @Override
    public CompletableFuture<RedisConnection> connect(RedisUri server) {
        Asked<RedisConnection> one = new Asked<>(server, new CompletableFuture<>());
        asked.add(one);
        return one.answer;
    }

    @Override
    public CompletableFuture<PushConnection> connectForPushes(RedisUri server) {
        Asked<PushConnection> one = new Asked<>(server, new CompletableFuture<>());
        askedForPushes.add(one);
        return one.answer;
    }

    @Override
    public CompletableFuture<TrackingConnection> connectForTracking(RedisUri server) {
        Asked<TrackingConnection> one = new Asked<>(server, new CompletableFuture<>());
        askedForTracking.add(one);
        return one.answer;
    }

    @Override
    public void close() {
        closed = true;
    }

    /** Answers the last request for a connection with a connection to a master. */
    Connection made() {
        return made(asked.size() - 1);
    }

    /** Answers the request with this number with a connection to a master. */
    Connection made(int number) {
        Connection connection = new Connection();
        asked.get(number).answer.complete(connection);
        connection.answers("INFO", MASTER);
        return connection;
    }

    void fails(int number) {
        asked.get(number).answer.completeExceptionally(new IllegalStateException("no connection"));
    }

    /** Answers the last request for a connection for pushes. */
    Pushes pushes() {
        Pushes made = new Pushes();
        made.pongs = pongs;
        askedForPushes.get(askedForPushes.size() - 1).answer.complete(made);
        return made;
    }

    /** Answers the last request for a connection that tracks keys. */
    Tracked tracked() {
        Tracked made = new Tracked();
        askedForTracking.get(askedForTracking.size() - 1).answer.complete(made);
        return made;
    }

    /** A connection that ends once and notifies its listeners. */
    abstract static class Ends {
        boolean open = true;
        int closes;
        private final List<Runnable> listeners = new ArrayList<>();

        public boolean isOpen() {
            return open;
        }

        public void close() {
            closes++;
            ends();
        }

        /** Ends the connection from the server's side. */
        void ends() {
            if (open) {
                open = false;
                List.copyOf(listeners).forEach(Runnable::run);
            }
        }

        public void onEnd(Runnable listener) {
            listeners.add(listener);
        }
    }

    static final class Connection extends Ends implements RedisConnection {

        /** A question that is not answered yet. */
        record Question(String command, BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {}

        final List<Question> questions = new ArrayList<>();
        /** The words of all commands; for a script its keys and arguments. */
        final List<String> sent = new ArrayList<>();
        /** The exception that the next command throws instead of being accepted. */
        @Nullable
        Throwable thrown;

        /**
         * The number of commands that it does not accept yet, like a connection whose handshake has not ended on every
         * thread.
         */
        int takesNone;

        int asked;
        /** Whether it has any two ends that the server reports. */
        boolean direct;
        /** The step of another thread during the hand-over of the next command. */
        @Nullable
        Runnable meanwhile;

        @Override
        public void run(
                ScriptCall call,
                boolean byText,
                boolean asking,
                BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
            sent.add(call.script() + " " + String.join(" ", call.keys()) + " " + String.join(" ", call.arguments()));
            ask((asking ? "ASKING " : "") + (byText ? "EVAL" : "EVALSHA"), then);
        }

        @Override
        public void send(
                PlainCommand<?> command, boolean asking, BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
            sent.add(command.name() + " " + String.join(" ", command.arguments()));
            // A Cluster receives two commands together, which differ in their argument.
            ask(command.name() + (command.name().equals("CLUSTER") ? " " + command.arguments()[0] : ""), then);
        }

        private void ask(String command, BiConsumer<@Nullable List<Object>, @Nullable Throwable> then) {
            asked++;
            Throwable now = thrown;
            thrown = null;
            Runnable other = meanwhile;
            meanwhile = null;
            if (other != null) {
                other.run();
            }
            throwing(now);
            if (takesNone > 0) {
                takesNone--;
                then.accept(null, new NotSentException("Currently not connected. Commands are rejected.", null));
            } else {
                questions.add(new Question(command, then));
            }
        }

        /** Answers the first such command. */
        void answers(String command, Object... items) {
            take(command).then.accept(new ArrayList<>(List.of(items)), null);
        }

        void fails(String command, Throwable error) {
            take(command).then.accept(null, error);
        }

        private Question take(String command) {
            Question question = questions.stream()
                    .filter(one -> one.command.equals(command))
                    .findFirst()
                    .orElseThrow(() -> new AssertionError(command + " was not asked, but " + questions));
            questions.remove(question);
            return question;
        }

        @Override
        public Acknowledging acknowledging(Acknowledgement wanted) {
            return new Acknowledging() {
                @Override
                public void run(
                        ScriptCall call,
                        BooleanSupplier stillWanted,
                        BiConsumer<@Nullable Acknowledged, @Nullable Throwable> then) {
                    ask(
                            "EVALSHA",
                            (reply, error) -> then.accept(
                                    reply == null ? null : new Acknowledged(reply, wanted.replicas()), error));
                }

                @Override
                public void close() {
                    Connection.this.close();
                }
            };
        }

        @Override
        public boolean hasEnds(InetSocketAddress local, InetSocketAddress remote) {
            return direct;
        }

        @Override
        public @Nullable Throwable plain(@Nullable Throwable thrown) {
            return thrown;
        }
    }

    private static void throwing(@Nullable Throwable now) {
        if (now instanceof Error error) {
            throw error;
        } else if (now != null) {
            throw (RuntimeException) now;
        }
    }

    static final class Pushes extends Ends implements PushConnection {

        /** A requested subscription. */
        record Subscribed(String channel, boolean sharded, CompletableFuture<Void> answer) {}

        final List<Subscribed> subscribed = new ArrayList<>();
        final List<String> unsubscribed = new ArrayList<>();
        final List<CompletableFuture<Void>> pings = new ArrayList<>();
        /** The answer about the server, which is requested before the subscription. */
        final CompletableFuture<String> info = new CompletableFuture<>();

        /** The number of questions about the server. */
        int asked;

        PushConnection.@Nullable Listener listener;
        /** The exception of the question about the server. */
        @Nullable
        Throwable thrownAtAsking;

        /** The exception of the next registration of a listener, or of the next subscription. */
        @Nullable
        Throwable thrownAtListening;

        @Nullable
        Throwable thrownAtSubscribing;

        /** Whether each ping is answered at once. */
        boolean pongs;

        @Override
        public void listen(PushConnection.Listener heard) {
            throwing(thrownAtListening);
            listener = heard;
        }

        @Override
        public CompletableFuture<Void> subscribe(String channel) {
            return subscribe(channel, false);
        }

        @Override
        public CompletableFuture<Void> subscribeSharded(String channel) {
            return subscribe(channel, true);
        }

        @Override
        public CompletableFuture<String> serverInfo() {
            asked++;
            throwing(thrownAtAsking);
            return info;
        }

        private CompletableFuture<Void> subscribe(String channel, boolean sharded) {
            throwing(thrownAtSubscribing);
            Subscribed one = new Subscribed(channel, sharded, new CompletableFuture<>());
            subscribed.add(one);
            return one.answer;
        }

        @Override
        public void unsubscribeSharded(List<String> channels) {
            unsubscribed.addAll(channels);
        }

        @Override
        public CompletableFuture<Void> ping() {
            CompletableFuture<Void> pong = new CompletableFuture<>();
            pings.add(pong);
            if (pongs) {
                pong.complete(null);
            }
            return pong;
        }

        /** Begins the last requested subscription. */
        Pushes begins() {
            subscribed.get(subscribed.size() - 1).answer.complete(null);
            return this;
        }

        void refuses(Throwable why) {
            subscribed.get(subscribed.size() - 1).answer.completeExceptionally(why);
        }
    }

    static final class Tracked extends Ends implements TrackingConnection {
        final CompletableFuture<Void> tracks = new CompletableFuture<>();
        final List<CompletableFuture<List<@Nullable String>>> readings = new ArrayList<>();

        @Override
        public CompletableFuture<Void> track(Consumer<@Nullable String> onChange) {
            return tracks;
        }

        @Override
        public CompletableFuture<List<@Nullable String>> values(List<String> keys) {
            CompletableFuture<List<@Nullable String>> reading = new CompletableFuture<>();
            readings.add(reading);
            return reading;
        }

        @Override
        public CompletableFuture<Void> ping() {
            return CompletableFuture.completedFuture(null);
        }

        /** Begins the tracking of keys. */
        Tracked begins() {
            tracks.complete(null);
            return this;
        }
    }
}
