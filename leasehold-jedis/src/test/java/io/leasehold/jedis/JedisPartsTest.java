package io.leasehold.jedis;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.leasehold.redis.topology.RedisUri;
import io.leasehold.redis.wire.ServerRefusal;
import io.leasehold.spi.StoreUri;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.KeyValue;

/** The items of replies, the names of commands, the meaning of exceptions, and threads. Needs no server. */
@Tag("quick")
@Timeout(120)
final class JedisPartsTest {

    private static byte[] utf8(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @Test
    void answersOfBothProtocolsHaveTheSameItems() {
        assertThat(Items.of(utf8("é"))).isEqualTo(List.of("é"));
        assertThat(Items.of(7L)).isEqualTo(List.of(7L));
        assertThat(Items.of(null)).isEqualTo(Arrays.asList((Object) null));
        assertThat(Items.of(List.of())).isEmpty();
        assertThat(Items.of(Arrays.asList(utf8("a"), null, List.of(utf8("b"), List.of(1L)))))
                .isEqualTo(Arrays.asList("a", null, List.of("b", List.of(1L))));
        assertThat(Items.of(List.of(new KeyValue<>(utf8("k"), utf8("v")), new KeyValue<>(utf8("l"), 2L))))
                .as("a map")
                .isEqualTo(List.of("k", "v", "l", 2L));
        assertThat(Items.of(List.of(new JedisDataException("ERR passed on")))).isEqualTo(List.of("ERR passed on"));
    }

    @Test
    void aCommandIsItsName() {
        CommandName name = new CommandName("SSUBSCRIBE");
        assertThat(name.getRaw()).isEqualTo(utf8("SSUBSCRIBE"));
        assertThat(name).hasToString("SSUBSCRIBE");
    }

    @Test
    void whatAServerRefusesStandsInItsOwnWordsHoweverDeep() {
        JedisConnectionException plain = new JedisConnectionException("no route");
        assertThat(JedisDriver.meaning(plain)).isSameAs(plain);
        JedisDataException deepest = new JedisDataException("WRONGPASS");
        JedisConnectionException above = new JedisConnectionException(new JedisDataException("outer", deepest));
        assertThat(JedisDriver.meaning(above))
                .isInstanceOf(ServerRefusal.class)
                .hasMessage("WRONGPASS")
                .hasCause(above);
    }

    @Test
    void anEndSaysWhyIfThatIsKnown() {
        assertThat(new LostException(null)).hasMessage("the connection ended").hasNoCause();
        JedisConnectionException why = new JedisConnectionException("reset");
        assertThat(new LostException(why))
                .hasMessage("the connection ended: reset")
                .hasCause(why);
    }

    @Test
    void theThreadsOfAConnectionAreNamedAndKeepNoProcessAlive() throws Exception {
        JedisThreads threads = new JedisThreads("the test");
        CompletableFuture<Thread> first = new CompletableFuture<>();
        CompletableFuture<Thread> second = new CompletableFuture<>();
        CompletableFuture<Thread> third = new CompletableFuture<>();
        threads.start("reads", () -> first.complete(Thread.currentThread()));
        threads.start("writes", () -> second.complete(Thread.currentThread()));
        threads.connect(() -> third.complete(Thread.currentThread()), new CompletableFuture<>());
        assertThat(first.get(60, TimeUnit.SECONDS).getName()).isEqualTo("leasehold-jedis-reads-1");
        assertThat(second.get(60, TimeUnit.SECONDS).getName()).isEqualTo("leasehold-jedis-writes-2");
        assertThat(third.get(60, TimeUnit.SECONDS).getName()).isEqualTo("leasehold-jedis-connects-3");
        for (CompletableFuture<Thread> one : List.of(first, second, third)) {
            assertThat(one.join().isDaemon()).isTrue();
        }
        threads.close();
    }

    @Test
    void theCloseWaitsForTheThreadsOfConnectionsAndTakesOnNothingMore() throws Exception {
        JedisThreads threads = new JedisThreads("the test");
        CountDownLatch end = new CountDownLatch(1);
        AtomicReference<Thread> closer = new AtomicReference<>();
        CompletableFuture<Boolean> waited = new CompletableFuture<>();
        threads.start("reads", () -> {
            Thread other = closer.get();
            while (other == null || other.getState() != Thread.State.TIMED_WAITING) {
                Thread.onSpinWait();
                other = closer.get();
                if (end.getCount() == 0) {
                    break;
                }
            }
            waited.complete(end.getCount() == 1);
        });
        closer.set(Thread.currentThread());
        threads.close();
        end.countDown();
        assertThat(waited.get(60, TimeUnit.SECONDS)).as("it was waited for").isTrue();
        CompletableFuture<Void> refused = new CompletableFuture<>();
        threads.connect(() -> {}, refused);
        assertThatThrownBy(refused::join).hasMessageContaining("the store is closed");
    }

    /** The end of a connection may close the store of the application. */
    @Test
    void theCloseOnAThreadOfAConnectionDoesNotWaitForItself() throws Exception {
        JedisThreads threads = new JedisThreads("the test");
        CompletableFuture<Boolean> closed = new CompletableFuture<>();
        threads.start("reads", () -> {
            threads.close();
            closed.complete(Thread.currentThread().isInterrupted());
        });
        assertThat(closed.get(60, TimeUnit.SECONDS)).isFalse();
    }

    @Test
    void aFileWithoutCertificatesIsRefusedByItsName(@TempDir Path directory) throws IOException {
        Path file = Files.writeString(directory.resolve("ca.pem"), "no certificate");
        RedisUri server = RedisUri.parse(StoreUri.parse("rediss://127.0.0.1:1?ca=" + file));
        assertThatThrownBy(() -> new OwnSettings().connect(server, null))
                .isInstanceOf(JedisConnectionException.class)
                .hasMessageContaining("the certificates in " + file + " cannot be read");
    }
}
