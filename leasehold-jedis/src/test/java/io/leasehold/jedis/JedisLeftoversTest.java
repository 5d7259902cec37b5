package io.leasehold.jedis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.redis.topology.PushConnection;
import io.leasehold.redis.topology.RedisConnection;
import io.leasehold.redis.topology.RedisUri;
import io.leasehold.redis.wire.NotSentException;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.spi.StoreUri;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.exceptions.JedisConnectionException;

/** Remains of ended connections, and the listeners of an end: each of several is notified. Needs no server. */
@Tag("quick")
@Timeout(120)
final class JedisLeftoversTest {

    private static final RedisUri HERE = RedisUri.parse(StoreUri.parse("redis://server.test"));

    private final List<ScriptedConnection> made = new CopyOnWriteArrayList<>();
    private final JedisDriver driver = new JedisDriver("the test", (server, login) -> {
        ScriptedConnection one = new ScriptedConnection();
        made.add(one);
        return one;
    });

    private static <T> T answer(CompletableFuture<T> asked) throws Exception {
        return asked.get(60, TimeUnit.SECONDS);
    }

    private static Collection<?> kept(Object by, String field) throws Exception {
        Field set = by.getClass().getDeclaredField(field);
        set.setAccessible(true);
        return (Collection<?>) set.get(by);
    }

    private static void until(Collection<?> empty) {
        Servers.until("nothing is kept", empty::isEmpty);
    }

    private JedisThreads threads() throws Exception {
        Field threads = JedisDriver.class.getDeclaredField("threads");
        threads.setAccessible(true);
        return (JedisThreads) threads.get(driver);
    }

    @Test
    void ofConnectionsThatHaveEndedNothingIsKept() throws Exception {
        for (int i = 0; i < 20; i++) {
            RedisConnection connection = answer(driver.connect(HERE));
            PushConnection pushes = answer(driver.connectForPushes(HERE));
            assertThat(kept(driver, "ends"))
                    .as("they are ended with the driver")
                    .hasSizeGreaterThanOrEqualTo(2);
            connection.close();
            pushes.close();
        }
        until(kept(driver, "ends"));
        until(kept(threads(), "running"));
        driver.close();
        assertThat(made).hasSize(40).allMatch(one -> one.disconnects.get() > 0);
    }

    /** The close comes while the connection is being made. */
    @Test
    void aConnectionThatComesAfterTheCloseIsEnded() throws Exception {
        CountDownLatch asked = new CountDownLatch(2);
        CountDownLatch go = new CountDownLatch(1);
        List<ScriptedConnection> late = new CopyOnWriteArrayList<>();
        JedisDriver slow = new JedisDriver("the test", (server, login) -> {
            asked.countDown();
            try {
                go.await();
            } catch (InterruptedException e) {
                throw new JedisConnectionException(e);
            }
            ScriptedConnection one = new ScriptedConnection();
            late.add(one);
            return one;
        });
        CompletableFuture<RedisConnection> connection = slow.connect(HERE);
        CompletableFuture<PushConnection> pushes = slow.connectForPushes(HERE);
        asked.await();
        slow.close();
        go.countDown();
        assertThat(answer(connection).isOpen()).isFalse();
        assertThat(answer(pushes).isOpen()).isFalse();
        for (ScriptedConnection one : late) {
            assertThat(one.disconnected.await(60, TimeUnit.SECONDS)).isTrue();
        }
        assertThatThrownBy(() -> answer(slow.connect(HERE))).hasCauseInstanceOf(NotSentException.class);
    }

    @Test
    void aThreadThatHasEndedIsNotKept() throws Exception {
        JedisThreads threads = new JedisThreads("the test");
        CountDownLatch over = new CountDownLatch(1);
        threads.start("reads", over::countDown);
        assertThat(over.await(60, TimeUnit.SECONDS)).isTrue();
        until(kept(threads, "running"));
        threads.close();
    }

    /** An exception, even an {@link Error}, does not stop the reading thread. */
    @Test
    void anAnswerThatCannotBeTakenInKeepsTheNextFromNoOne() throws Exception {
        for (Throwable thrown :
                List.of(new IllegalStateException("made by the test"), new AssertionError("made by the test"))) {
            made.clear();
            RedisConnection connection = answer(driver.connect(HERE));
            ScriptedConnection wire = made.get(0);
            connection.send(new PlainCommand<>("TIME", new String[0], items -> items), false, (reply, error) -> {
                if (thrown instanceof Error serious) {
                    throw serious;
                }
                throw (RuntimeException) thrown;
            });
            CompletableFuture<List<Object>> second =
                    connection.ask(new PlainCommand<>("PING", new String[0], items -> items));
            wire.awaitWritten("PING");
            wire.comes("5");
            wire.comes("PONG");
            assertThat(answer(second)).isEqualTo(List.of("PONG"));
            assertThat(connection.isOpen()).isTrue();
            connection.close();
        }
        driver.close();
    }

    /**
     * Requests that had been sent are notified first, since they may have been carried out; then each that had not been
     * sent.
     */
    @Test
    void theEndIsToldToEachOfThoseThatWereNotSent() throws Exception {
        CountDownLatch writing = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        ScriptedConnection stuck = new ScriptedConnection() {
            @Override
            public void sendCommand(redis.clients.jedis.CommandArguments command) {
                writing.countDown();
                try {
                    go.await();
                } catch (InterruptedException e) {
                    throw new JedisConnectionException(e);
                }
            }
        };
        JedisThreads threads = new JedisThreads("the test");
        JedisConnection connection = new JedisConnection(stuck, threads);
        List<String> told = new CopyOnWriteArrayList<>();
        Field field = JedisConnection.class.getDeclaredField("wire");
        field.setAccessible(true);
        Object lock = field.get(connection);
        CountDownLatch listeners = new CountDownLatch(2);
        connection.onEnd(() -> {
            told.add("first listener" + (Thread.holdsLock(lock) ? " with the lock held" : ""));
            listeners.countDown();
        });
        connection.onEnd(() -> {
            told.add("second listener");
            listeners.countDown();
        });
        for (String name : List.of("LEFT", "ONE", "TWO", "THREE")) {
            connection.send(
                    new PlainCommand<>(name, new String[0], items -> items),
                    false,
                    (reply, error) -> told.add(name + " " + error.getClass().getSimpleName()));
            writing.await();
        }
        stuck.comes(new JedisConnectionException("reset by the test"));
        assertThat(listeners.await(60, TimeUnit.SECONDS)).isTrue();
        go.countDown();
        assertThat(told)
                .containsExactly(
                        "LEFT LostException",
                        "ONE NotSentException",
                        "TWO NotSentException",
                        "THREE NotSentException",
                        "first listener",
                        "second listener");
        threads.close();
        List<String> afterwards = new ArrayList<>();
        connection.onEnd(() -> afterwards.add("at once"));
        assertThat(afterwards).containsExactly("at once");
    }
}
