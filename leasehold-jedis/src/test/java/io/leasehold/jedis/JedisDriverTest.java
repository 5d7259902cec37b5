package io.leasehold.jedis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.redis.topology.PushConnection;
import io.leasehold.redis.topology.RedisConnection;
import io.leasehold.redis.topology.RedisUri;
import io.leasehold.redis.wire.InfoText;
import io.leasehold.redis.wire.NotSentException;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.servers.RedisServer;
import io.leasehold.simulator.proxy.TcpProxy;
import io.leasehold.spi.StoreUri;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import redis.clients.jedis.Connection;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;

/** Jedis connections: what is sent once, what ends, and what does not wait. */
@Tag("quick")
final class JedisDriverTest {

    private static RedisServer server;
    private final JedisDriver driver = new JedisDriver("the test", new OwnSettings());

    @BeforeAll
    static void start() {
        server = Servers.one();
    }

    @AfterAll
    static void stop() {
        if (server != null) {
            server.close();
        }
    }

    @AfterEach
    void close() {
        driver.close();
    }

    private static RedisUri at(int port) {
        return RedisUri.parse(StoreUri.parse("redis://127.0.0.1:" + port));
    }

    private static PlainCommand<Object> command(String name, String... arguments) {
        return new PlainCommand<>(name, arguments, items -> items.get(0));
    }

    private RedisConnection connect(int port) throws Exception {
        return driver.connect(at(port)).get(60, TimeUnit.SECONDS);
    }

    private static Object answer(CompletableFuture<?> asked) throws Exception {
        return asked.get(60, TimeUnit.SECONDS);
    }

    @Test
    void whatIsSentIsNeverSentAgain() throws Exception {
        try (TcpProxy proxy = TcpProxy.to(server.port())) {
            RedisConnection connection = connect(proxy.port());
            proxy.loseNextReplyTo(request -> request.contains("once"));
            assertThatThrownBy(() -> answer(connection.ask(command("INCR", "once"))))
                    .hasCauseInstanceOf(LostException.class);
            assertThat(connection.isOpen()).isFalse();
            // Nothing is sent to a server that does not know the login, either.
            assertThatThrownBy(() -> answer(connection.ask(command("INCR", "once"))))
                    .hasCauseInstanceOf(NotSentException.class);
            assertThat(answer(connect(proxy.port()).ask(command("GET", "once"))))
                    .isEqualTo("1");
            assertThat(proxy.connections().accepted()).isEqualTo(2);
        }
    }

    @Test
    void answersComeInTheOrderOfTheirRequestsAndErrorsAreTheServersOwn() throws Exception {
        RedisConnection connection = connect(server.port());
        List<CompletableFuture<Object>> asked = new ArrayList<>();
        for (int i = 0; i < 5_000; i++) {
            asked.add(connection.ask(i % 10 == 9 ? command("NOSUCH") : command("ECHO", "é" + i)));
        }
        for (int i = 0; i < asked.size(); i++) {
            CompletableFuture<Object> one = asked.get(i);
            if (i % 10 == 9) {
                assertThatThrownBy(() -> answer(one))
                        .hasCauseInstanceOf(ServerRefusal.class)
                        .hasMessageContaining("unknown command");
            } else {
                assertThat(answer(one)).isEqualTo("é" + i);
            }
        }
    }

    /**
     * After a failed write Jedis reads on the writing thread, too, and the reading thread may read a reply to another
     * request.
     */
    @Test
    void anAnswerFromAConnectionThatIsBrokenIsNotTaken() throws Exception {
        JedisDriver failing = new JedisDriver(
                "the test",
                (where, login) ->
                        new Connection(
                                new HostAndPort(where.host(), where.port()),
                                DefaultJedisClientConfig.builder().build()) {
                            @Override
                            public Object getUnflushedObject() {
                                try {
                                    return super.getUnflushedObject();
                                } finally {
                                    // A write that fails meanwhile does the same.
                                    setBroken();
                                }
                            }
                        });
        try {
            for (String command : new String[] {"TIME", "NOSUCH"}) {
                RedisConnection connection = failing.connect(at(server.port())).get(60, TimeUnit.SECONDS);
                assertThatThrownBy(() -> answer(connection.ask(command(command))))
                        .hasCauseInstanceOf(LostException.class);
                assertThat(connection.isOpen()).isFalse();
            }
        } finally {
            failing.close();
        }
    }

    /** If the server reads nothing any more, only the writing thread is blocked. */
    @Test
    void aConnectionOnWhichNothingMovesEndsAtOnce() throws Exception {
        try (RedisServer frozen = Servers.one()) {
            RedisConnection connection = connect(frozen.port());
            CountDownLatch ended = new CountDownLatch(1);
            connection.onEnd(ended::countDown);
            frozen.freeze();
            try {
                String megabyte = "x".repeat(1 << 20);
                List<CompletableFuture<Object>> asked = new ArrayList<>();
                for (int i = 0; i < 64; i++) {
                    asked.add(connection.ask(command("SET", "big", megabyte)));
                }
                connection.close();
                assertThat(connection.isOpen()).isFalse();
                assertThat(ended.await(60, TimeUnit.SECONDS)).isTrue();
                for (CompletableFuture<Object> one : asked) {
                    assertThatThrownBy(() -> answer(one))
                            .cause()
                            .isInstanceOfAny(LostException.class, NotSentException.class);
                }
                assertThatThrownBy(() -> answer(asked.get(63))).hasCauseInstanceOf(NotSentException.class);
            } finally {
                frozen.thaw();
            }
        }
    }

    @Test
    void aListenerThatFailsKeepsNobodyElseFromHearing() throws Exception {
        try (TcpProxy proxy = TcpProxy.to(server.port())) {
            RedisConnection connection = connect(proxy.port());
            CountDownLatch ended = new CountDownLatch(1);
            connection.onEnd(() -> {
                throw new AssertionError("the first listener");
            });
            connection.onEnd(ended::countDown);
            proxy.toClient().stall();
            connection.send(command("PING"), false, (reply, error) -> {
                throw new AssertionError("the first answer");
            });
            CompletableFuture<Object> second = connection.ask(command("PING"));
            connection.close();
            assertThatThrownBy(() -> answer(second))
                    .cause()
                    .isInstanceOfAny(LostException.class, NotSentException.class);
            assertThat(ended.await(60, TimeUnit.SECONDS)).isTrue();
        }
    }

    @Test
    void oneTryTooManyToConnectIsRefusedAtOnce() throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        JedisDriver slow = new JedisDriver("the test", (where, login) -> {
            try {
                go.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            throw new IllegalStateException("no server");
        });
        List<CompletableFuture<RedisConnection>> tries = new ArrayList<>();
        for (int i = 0; i < JedisThreads.MAX_CONNECTING; i++) {
            tries.add(slow.connect(at(1)));
        }
        CompletableFuture<RedisConnection> oneMore = slow.connect(at(1));
        assertThat(oneMore).isCompletedExceptionally();
        assertThatThrownBy(oneMore::join).hasMessageContaining("connections are being made already");
        assertThat(tries).noneMatch(CompletableFuture::isDone);
        go.countDown();
        for (CompletableFuture<RedisConnection> one : tries) {
            assertThatThrownBy(() -> one.get(60, TimeUnit.SECONDS)).hasMessageContaining("no server");
        }
        slow.close();
        assertThatThrownBy(() -> slow.connect(at(1)).get(60, TimeUnit.SECONDS)).hasMessageContaining("closed");
    }

    /**
     * For example if the system has no more threads: the caller that requested the connection is notified, and not the
     * caller that happened to trigger it.
     */
    @Test
    void aThreadThatCannotBeStartedIsAFailureLikeOthers() throws Exception {
        JedisThreads threads = new JedisThreads("the test");
        Field connecting = JedisThreads.class.getDeclaredField("connecting");
        connecting.setAccessible(true);
        ((ThreadPoolExecutor) connecting.get(threads)).setThreadFactory(work -> {
            throw new OutOfMemoryError("unable to create native thread");
        });
        CompletableFuture<Object> refused = new CompletableFuture<>();
        threads.connect(() -> {}, refused);
        assertThat(refused).isCompletedExceptionally();
        assertThatThrownBy(() -> refused.get(60, TimeUnit.SECONDS)).hasMessageContaining("native thread");
        threads.close();
    }

    @Test
    void theCloseEndsAllThreadsAndKeepsAnInterrupt() throws Exception {
        JedisDriver one = new JedisDriver("one", new OwnSettings());
        RedisConnection connection = one.connect(at(server.port())).get(60, TimeUnit.SECONDS);
        one.connectForPushes(at(server.port()))
                .get(60, TimeUnit.SECONDS)
                .subscribe("channel")
                .get(60, TimeUnit.SECONDS);
        Thread.currentThread().interrupt();
        one.close();
        assertThat(Thread.interrupted()).isTrue();
        assertThat(connection.isOpen()).isFalse();
        assertThat(Thread.getAllStackTraces().keySet())
                .noneMatch(thread -> thread.getName().startsWith("leasehold-jedis-reads"));
    }

    /** The reply to one request is not taken for the reply to the other. */
    @Test
    void anEndOfASubscriptionThatIsRefusedRefusesNoOther() throws Exception {
        server.call("ACL", "SETUSER", "stays", "on", ">s3cret", "allkeys", "allchannels", "+@all", "-sunsubscribe");
        for (String user : new String[] {"stays:s3cret@", ""}) {
            RedisUri where = RedisUri.parse(StoreUri.parse("redis://" + user + "127.0.0.1:" + server.port()));
            PushConnection pushes = driver.connectForPushes(where).get(60, TimeUnit.SECONDS);
            pushes.subscribeSharded("first").get(60, TimeUnit.SECONDS);
            List<CompletableFuture<Void>> others = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                pushes.unsubscribeSharded(List.of("first", "second"));
                others.add(pushes.subscribeSharded("other" + i));
            }
            for (CompletableFuture<Void> one : others) {
                one.get(60, TimeUnit.SECONDS);
            }
            pushes.ping().get(60, TimeUnit.SECONDS);
        }
    }

    /** For example if a slot moves while another request is in flight. */
    @Test
    void aSubscriptionThatEndsUnaskedAnswersNothingElse() throws Exception {
        String endsUnasked = "*3\r\n$12\r\nsunsubscribe\r\n$5\r\nfirst\r\n:0\r\n";
        String confirms = "*3\r\n$10\r\nssubscribe\r\n$5\r\nother\r\n:1\r\n";
        try (ServerSocket moving = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            PushConnection pushes =
                    driver.connectForPushes(at(moving.getLocalPort())).get(60, TimeUnit.SECONDS);
            List<String> ended = new CopyOnWriteArrayList<>();
            pushes.listen(new PushConnection.Listener() {
                @Override
                public void message(String message) {}

                @Override
                public void unsubscribed(String channel) {
                    ended.add(channel);
                }
            });
            try (Socket peer = moving.accept()) {
                CompletableFuture<Void> subscribed = pushes.subscribeSharded("other");
                assertThat(peer.getInputStream().read()).as("it has left").isEqualTo('*');
                peer.getOutputStream().write((endsUnasked + confirms).getBytes(StandardCharsets.US_ASCII));
                subscribed.get(60, TimeUnit.SECONDS);
                assertThat(ended).containsExactly("first");
            }
        }
    }

    @Test
    void aConnectionForPushesSaysWhichServerItLeadsToBeforeItSubscribes() throws Exception {
        PushConnection pushes = driver.connectForPushes(at(server.port())).get(60, TimeUnit.SECONDS);
        String runId = server.call("INFO", "server").replaceAll("(?s).*run_id:(\\w+).*", "$1");
        CompletableFuture<String> first = pushes.serverInfo();
        pushes.subscribe("lock:wake:x!").get(60, TimeUnit.SECONDS);
        assertThat(InfoText.fields(first.get(60, TimeUnit.SECONDS))).containsEntry("run_id", runId);
    }

    @Test
    void aRefusedSubscriptionIsTheServersOwnWord() throws Exception {
        server.call("ACL", "SETUSER", "deaf", "on", ">s3cret", "allkeys", "+@all", "resetchannels");
        RedisUri deaf = RedisUri.parse(StoreUri.parse("redis://deaf:s3cret@127.0.0.1:" + server.port()));
        assertThatThrownBy(() -> driver.connectForPushes(deaf)
                        .get(60, TimeUnit.SECONDS)
                        .subscribe("lock:wake:x")
                        .get(60, TimeUnit.SECONDS))
                .hasCauseInstanceOf(ServerRefusal.class)
                .hasMessageContaining("NOPERM");
    }
}
