package io.leasehold.jedis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.redis.topology.PushConnection;
import io.leasehold.redis.wire.NotSentException;
import io.leasehold.redis.wire.ServerRefusal;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;

/** A push reaches the listener, and a confirmation reaches the command that it confirms. */
@Tag("quick")
@Timeout(120)
final class JedisPushesTest {

    private final ScriptedConnection wire = new ScriptedConnection();
    private final JedisThreads threads = new JedisThreads("the test");
    private final JedisPushes pushes = new JedisPushes(wire, threads);
    private final BlockingQueue<String> heard = new LinkedBlockingQueue<>();

    @AfterEach
    void close() {
        pushes.close();
        threads.close();
    }

    private void listen() {
        pushes.listen(new PushConnection.Listener() {
            @Override
            public void message(String message) {
                heard.add("message " + message);
            }

            @Override
            public void unsubscribed(String channel) {
                heard.add("left " + channel);
            }
        });
    }

    private String nextHeard() throws InterruptedException {
        return String.valueOf(heard.poll(60, TimeUnit.SECONDS));
    }

    private static void confirmed(CompletableFuture<Void> asked) throws Exception {
        asked.get(60, TimeUnit.SECONDS);
    }

    private String nextCommand() throws InterruptedException {
        String next = wire.next();
        return next.equals(ScriptedConnection.WRITTEN_OUT) ? wire.next() : next;
    }

    @Test
    void eachCommandIsConfirmedByItsAnswerInTurn() throws Exception {
        assertThat(pushes.isOpen()).isTrue();
        CompletableFuture<Void> first = pushes.subscribe("a");
        assertThat(nextCommand()).isEqualTo("SUBSCRIBE a");
        CompletableFuture<Void> second = pushes.subscribeSharded("b");
        assertThat(nextCommand()).isEqualTo("SSUBSCRIBE b");
        CompletableFuture<Void> third = pushes.ping();
        assertThat(nextCommand()).isEqualTo("PING");
        wire.comes(List.of("subscribe", "a", 1L));
        confirmed(first);
        assertThat(second).isNotDone();
        wire.comes(List.of("ssubscribe", "b", 1L));
        confirmed(second);
        assertThat(third).isNotDone();
        wire.comes(List.of("pong", ""));
        confirmed(third);
        wire.comes(List.of("pong", ""));
        wire.comes(List.of("message", "a", "behind what nobody waits for"));
        listen();
    }

    @Test
    void messagesAreToldAndConfirmNothing() throws Exception {
        listen();
        CompletableFuture<Void> asked = pushes.subscribe("a");
        nextCommand();
        wire.comes(List.of("message", "a", "one"));
        wire.comes(List.of("smessage", "b", "two"));
        assertThat(nextHeard()).isEqualTo("message one");
        assertThat(nextHeard()).isEqualTo("message two");
        assertThat(asked).isNotDone();
        wire.comes(List.of("subscribe", "a", 1L));
        confirmed(asked);
    }

    /** A server that ends subscriptions unasked, because a slot moves, uses the same words as for a confirmation. */
    @Test
    void anEndIsToldAndConfirmsOnlyTheCommandThatAskedForIt() throws Exception {
        listen();
        CompletableFuture<Void> ping = pushes.ping();
        nextCommand();
        wire.comes(List.of("sunsubscribe", "a", 0L));
        assertThat(nextHeard()).isEqualTo("left a");
        assertThat(ping).as("the end came unasked").isNotDone();
        wire.comes(List.of("pong", ""));
        confirmed(ping);
        pushes.unsubscribeSharded(List.of("b", "c"));
        assertThat(nextCommand()).isEqualTo("SUNSUBSCRIBE b");
        assertThat(nextCommand()).isEqualTo("SUNSUBSCRIBE c");
        CompletableFuture<Void> behind = pushes.ping();
        nextCommand();
        wire.comes(List.of("sunsubscribe", "b", 1L));
        wire.comes(List.of("sunsubscribe", "c", 0L));
        assertThat(nextHeard()).isEqualTo("left b");
        assertThat(nextHeard()).isEqualTo("left c");
        assertThat(behind).isNotDone();
        wire.comes(List.of("pong", ""));
        confirmed(behind);
    }

    @Test
    void anEndThatNobodyAwaitsIsToldToo() throws Exception {
        listen();
        wire.comes(List.of("sunsubscribe", "a", 0L));
        assertThat(nextHeard()).isEqualTo("left a");
    }

    @Test
    void aRefusalIsThatOfTheFirstCommandAndOneThatNobodyAwaitsEndsNothing() throws Exception {
        listen();
        wire.comes(new JedisDataException("ERR unasked"));
        wire.comes(List.of("message", "a", "one"));
        assertThat(nextHeard()).isEqualTo("message one");
        CompletableFuture<Void> first = pushes.subscribe("a");
        CompletableFuture<Void> second = pushes.ping();
        nextCommand();
        nextCommand();
        wire.comes(new JedisDataException("NOPERM no channels"));
        assertThatThrownBy(() -> confirmed(first))
                .hasCauseInstanceOf(ServerRefusal.class)
                .hasMessageContaining("NOPERM no channels");
        assertThat(second).isNotDone();
        wire.comes(List.of("pong", ""));
        confirmed(second);
    }

    @Test
    void aListenerThatFailsKeepsNothingFromBeingHeard() throws Exception {
        CountDownLatch failed = new CountDownLatch(1);
        pushes.listen(message -> {
            failed.countDown();
            throw new AssertionError("made by the test");
        });
        wire.comes(List.of("message", "a", "one"));
        assertThat(failed.await(60, TimeUnit.SECONDS)).isTrue();
        // A listener for messages alone is not notified of an end.
        wire.comes(List.of("sunsubscribe", "a", 0L));
        CompletableFuture<Void> ping = pushes.ping();
        nextCommand();
        wire.comes(List.of("pong", ""));
        confirmed(ping);
    }

    @Test
    void theEndFailsWhatIsUnconfirmedAndWhatComesLater() throws Exception {
        CountDownLatch ended = new CountDownLatch(1);
        pushes.onEnd(ended::countDown);
        CompletableFuture<Void> first = pushes.subscribe("a");
        CompletableFuture<Void> second = pushes.ping();
        nextCommand();
        nextCommand();
        wire.comes(new JedisConnectionException("reset by the test"));
        for (CompletableFuture<Void> one : List.of(first, second)) {
            assertThatThrownBy(() -> confirmed(one))
                    .hasCauseInstanceOf(LostException.class)
                    .hasMessageContaining("reset by the test");
        }
        assertThat(ended.await(60, TimeUnit.SECONDS)).isTrue();
        assertThat(pushes.isOpen()).isFalse();
        assertThatThrownBy(() -> confirmed(pushes.ping())).hasCauseInstanceOf(NotSentException.class);
    }
}
