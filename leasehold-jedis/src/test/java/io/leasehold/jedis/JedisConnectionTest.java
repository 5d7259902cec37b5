package io.leasehold.jedis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.redis.wire.LuaScript;
import io.leasehold.redis.wire.NotSentException;
import io.leasehold.redis.wire.PlainCommand;
import io.leasehold.redis.wire.ScriptCall;
import io.leasehold.redis.wire.ServerRefusal;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;

/**
 * Tests what is written for a command, which request a reply belongs to, and which listeners are notified when a
 * connection ends.
 */
@Tag("quick")
@Timeout(120)
final class JedisConnectionTest {

    private final ScriptedConnection wire = new ScriptedConnection();
    private final JedisThreads threads = new JedisThreads("the test");
    private final JedisConnection connection = new JedisConnection(wire, threads);

    @AfterEach
    void close() {
        connection.close();
        threads.close();
    }

    private static PlainCommand<Object> command(String name, String... arguments) {
        return new PlainCommand<>(name, arguments, items -> items);
    }

    private CompletableFuture<Object> ask(String name, String... arguments) {
        return connection.ask(command(name, arguments));
    }

    private static Object answer(CompletableFuture<?> asked) throws Exception {
        return asked.get(60, TimeUnit.SECONDS);
    }

    private CompletableFuture<List<Object>> run(boolean byText, boolean asking) {
        CompletableFuture<List<Object>> answer = new CompletableFuture<>();
        ScriptCall call =
                new ScriptCall(LuaScript.RELEASE, new String[] {"lock:{x}", "lock:{y}"}, new String[] {"a", "b"});
        connection.run(call, byText, asking, (items, error) -> {
            if (error != null) {
                answer.completeExceptionally(error);
            } else {
                answer.complete(items);
            }
        });
        return answer;
    }

    /** The waiting callers judge silence: a lock without competitors is silent for long. */
    @Test
    void theSocketHasNoTimeLimitOfItsOwn() {
        assertThat(wire.timeouts).containsExactly(0);
        assertThat(connection.isOpen()).isTrue();
    }

    @Test
    void whatIsAskedIsWrittenWithItsArgumentsAndWrittenOutWhenNothingFollows() throws Exception {
        CompletableFuture<Object> first = ask("SET", "k", "é");
        assertThat(wire.next()).isEqualTo("SET k é");
        assertThat(wire.next()).isEqualTo(ScriptedConnection.WRITTEN_OUT);
        wire.comes("OK".getBytes(java.nio.charset.StandardCharsets.UTF_8));
        assertThat(answer(first)).isEqualTo(List.of("OK"));
        CompletableFuture<Object> second = ask("GET", "k");
        assertThat(wire.next()).isEqualTo("GET k");
        assertThat(wire.next()).isEqualTo(ScriptedConnection.WRITTEN_OUT);
        wire.comesNull();
        assertThat((List<?>) answer(second)).hasSize(1).containsOnlyNulls();
    }

    @Test
    void aScriptIsCalledByItsDigestOrItsTextWithTheNumberOfItsKeys() throws Exception {
        CompletableFuture<List<Object>> byDigest = run(false, false);
        assertThat(wire.next()).isEqualTo("EVALSHA " + LuaScript.RELEASE.sha1() + " 2 lock:{x} lock:{y} a b");
        wire.comes(7L);
        assertThat(answer(byDigest)).isEqualTo(List.of(7L));
        assertThat(wire.next()).isEqualTo(ScriptedConnection.WRITTEN_OUT);
        CompletableFuture<List<Object>> byText = run(true, false);
        assertThat(wire.next()).isEqualTo("EVAL " + LuaScript.RELEASE.text() + " 2 lock:{x} lock:{y} a b");
        wire.comes(8L);
        assertThat(answer(byText)).isEqualTo(List.of(8L));
    }

    /** A server that has only a part of a slot answers the ASKING and the command separately. */
    @Test
    void thePermissionIsWrittenBeforeItsCommandAndItsAnswerIsNobodys() throws Exception {
        CompletableFuture<List<Object>> asking = run(false, true);
        CompletableFuture<Object> next = ask("PING");
        assertThat(wire.next()).isEqualTo("ASKING");
        wire.awaitWritten("PING");
        wire.comes("OK");
        wire.comes(List.of(1L, List.of(2L)));
        wire.comes("PONG");
        assertThat(answer(asking)).isEqualTo(List.of(1L, List.of(2L)));
        assertThat(answer(next)).isEqualTo(List.of("PONG"));
    }

    @Test
    void anErrorOfTheServerIsTheAnswerToTheFirstThatWaits() throws Exception {
        CompletableFuture<Object> first = ask("NOSUCH");
        CompletableFuture<Object> second = ask("PING");
        wire.awaitWritten("PING");
        wire.comes(new JedisDataException("ERR unknown command"));
        wire.comes("PONG");
        assertThatThrownBy(() -> answer(first))
                .hasCauseInstanceOf(ServerRefusal.class)
                .hasMessageContaining("ERR unknown command");
        assertThat(answer(second)).isEqualTo(List.of("PONG"));
        assertThat(connection.isOpen()).isTrue();
    }

    /** For example an error on the way in: no caller waits for it, and it ends nothing. */
    @Test
    void whatNobodyAskedForIsPassedOver() throws Exception {
        wire.comes("unasked");
        wire.comes(new JedisDataException("ERR unasked"));
        wire.awaitReadOf(3);
        CompletableFuture<Object> first = ask("PING");
        wire.next();
        wire.next();
        assertThat(connection.isOpen()).isTrue();
        connection.close();
        assertThatThrownBy(() -> answer(first)).cause().isInstanceOfAny(LostException.class, NotSentException.class);
    }

    @Test
    void theEndTellsWhyToWhatHasLeftAndToWhoListensAndLeavesNothingOpen() throws Exception {
        CompletableFuture<Object> sent = ask("PING");
        assertThat(wire.next()).isEqualTo("PING");
        CountDownLatch ended = new CountDownLatch(1);
        connection.onEnd(ended::countDown);
        wire.comes(new JedisConnectionException("reset by the test"));
        assertThatThrownBy(() -> answer(sent))
                .hasCauseInstanceOf(LostException.class)
                .hasMessageContaining("the connection ended: reset by the test");
        assertThat(ended.await(60, TimeUnit.SECONDS)).isTrue();
        assertThat(connection.isOpen()).isFalse();
        assertThat(wire.disconnected.await(60, TimeUnit.SECONDS)).isTrue();
        assertThatThrownBy(() -> answer(ask("PING")))
                .hasCauseInstanceOf(NotSentException.class)
                .hasMessageContaining("Connection is closed");
        CountDownLatch late = new CountDownLatch(1);
        connection.onEnd(late::countDown);
        assertThat(late.getCount()).as("told at once").isZero();
    }

    /** The listener that is notified first may hold up the work of the other thread. */
    @Test
    void aBrokenConnectionAnswersNobody() throws Exception {
        ScriptedConnection broken = new ScriptedConnection() {
            @Override
            public boolean isBroken() {
                return true;
            }
        };
        JedisConnection over = new JedisConnection(broken, threads);
        CompletableFuture<Object> asked = over.ask(command("PING"));
        broken.next();
        broken.comes("PONG");
        assertThatThrownBy(() -> answer(asked))
                .hasCauseInstanceOf(LostException.class)
                .hasMessageContaining("could not be written to");
        assertThat(over.isOpen()).isFalse();
    }

    @Test
    void whatCannotBeWrittenIsLostAndEndsTheConnection() throws Exception {
        CountDownLatch go = new CountDownLatch(1);
        ScriptedConnection failing = new ScriptedConnection() {
            @Override
            public List<Object> getMany(int count) {
                try {
                    go.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
                throw new JedisConnectionException("broken pipe");
            }
        };
        JedisConnection over = new JedisConnection(failing, threads);
        CompletableFuture<Object> sent = over.ask(command("PING"));
        assertThat(failing.next()).isEqualTo("PING");
        // It is queued behind the first, whose write is blocked.
        CompletableFuture<Object> waits = over.ask(command("ECHO", "a"));
        go.countDown();
        assertThatThrownBy(() -> answer(sent)).hasCauseInstanceOf(LostException.class);
        assertThatThrownBy(() -> answer(waits)).cause().isInstanceOfAny(LostException.class, NotSentException.class);
        assertThat(over.isOpen()).isFalse();
    }

    /** A writing thread may be blocked as long as the server reads nothing: the closing thread does not wait for it. */
    @Test
    void theCloseDisconnectsWhereAWriteStandsStillAndTellsWhatWasNotSent() throws Exception {
        CountDownLatch stands = new CountDownLatch(1);
        ScriptedConnection slow = new ScriptedConnection() {
            @Override
            public List<Object> getMany(int count) {
                stands.countDown();
                try {
                    disconnected.await();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
                throw new JedisConnectionException("the socket is closed");
            }
        };
        JedisConnection over = new JedisConnection(slow, threads);
        CompletableFuture<Object> sent = over.ask(command("PING"));
        assertThat(stands.await(60, TimeUnit.SECONDS)).isTrue();
        CompletableFuture<Object> unsent = over.ask(command("ECHO", "a"));
        over.close();
        assertThat(over.isOpen()).isFalse();
        over.close();
        assertThatThrownBy(() -> answer(sent)).hasCauseInstanceOf(LostException.class);
        assertThatThrownBy(() -> answer(unsent)).hasCauseInstanceOf(NotSentException.class);
        connection.close();
        threads.close();
        assertThat(slow.written).containsExactly("PING");
    }

    /** If nothing is to be written, the writing thread carries out the close. */
    @Test
    void theCloseOfAnIdleConnectionDisconnectsItToo() throws Exception {
        connection.close();
        assertThat(wire.disconnected.await(60, TimeUnit.SECONDS)).isTrue();
        threads.close();
        assertThat(Thread.getAllStackTraces().keySet())
                .noneMatch(thread -> thread.getName().startsWith("leasehold-jedis-ends"));
    }
}
