package io.leasehold.redis.wire;

import static io.leasehold.redis.wire.MemberScriptBench.Caller.PLAIN;
import static io.leasehold.redis.wire.MemberScriptBench.OWN;
import static io.leasehold.redis.wire.ScriptBench.ALICE;
import static io.leasehold.redis.wire.ScriptBench.BOB;
import static io.leasehold.redis.wire.ScriptBench.CAROL;
import static io.leasehold.redis.wire.ScriptBench.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.redis.RedisUnderTest;
import io.lettuce.core.RedisURI;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests of the messages of a member when an owner token ends: to those that come first, in the order of their places. */
@Tag("quick")
final class MemberWakeScriptsTest {

    private static final String DEAF = "lock:wake:nobody-listens";
    private static final String END = "lock:wake:end";

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final MemberScriptBench bench = new MemberScriptBench(SERVER, "catalog");
    private final BlockingQueue<String> messages = new LinkedBlockingQueue<>();
    private StatefulRedisPubSubConnection<String, String> listener;
    private long next;

    @BeforeEach
    void listen() {
        bench.declareNew();
        next = bench.now();
        listener = SERVER.client().connectPubSub(RedisURI.create(SERVER.server().uri()));
        listener.addListener(new RedisPubSubAdapter<>() {
            @Override
            public void message(String channel, String message) {
                String key = message.substring(message.lastIndexOf(' ') + 1);
                messages.add(
                        channel.equals(END)
                                ? END
                                : channel.substring("lock:wake:".length())
                                        + (key.equals(bench.readers) ? " reads" : ""));
            }
        });
        listener.sync().subscribe("lock:wake:1", "lock:wake:2", "lock:wake:3", "lock:wake:4", "lock:wake:5", OWN, END);
    }

    @AfterEach
    void stop() {
        listener.close();
    }

    private long token() {
        return next += 10;
    }

    private void writes(long place, String channel) {
        bench.watches(bench.watchers, place, channel, bench.now() + 600 * SECOND);
    }

    private void reads(long place, String channel) {
        bench.watches(bench.readWatchers, place, channel, bench.now() + 600 * SECOND);
    }

    private List<Object> endWriter(String owner) {
        return bench.endWriter(owner, token(), "leave", "lock:wake:none");
    }

    private List<Object> endReader(String owner) {
        return bench.endReader(owner, token(), "leave", "lock:wake:none");
    }

    /** The messages so far. */
    private List<String> told() throws InterruptedException {
        SERVER.redis().publish(END, "all");
        List<String> told = new ArrayList<>();
        String one = messages.poll(20, TimeUnit.SECONDS);
        while (!END.equals(one)) {
            told.add(one);
            one = messages.poll(20, TimeUnit.SECONDS);
        }
        return told;
    }

    @Test
    void aFreeLockWakesTheFirstWriterAlone() throws Exception {
        bench.write(ALICE, token(), PLAIN);
        writes(20, "lock:wake:2");
        reads(30, "lock:wake:3");
        writes(10, "lock:wake:1");
        assertThat(endWriter(ALICE)).containsExactly("released", "woken");
        assertThat(told()).containsExactly("1");
        assertThat(bench.in(bench.watchers)).as("it has no claim").hasSize(4);
    }

    @Test
    void aFreeLockWakesTheReadersBeforeTheFirstWriter() throws Exception {
        bench.write(ALICE, token(), PLAIN);
        reads(10, "lock:wake:1");
        reads(20, "lock:wake:2");
        writes(30, "lock:wake:3");
        reads(40, "lock:wake:4");
        writes(50, "lock:wake:5");
        assertThat(endWriter(ALICE)).containsExactly("released", "woken");
        assertThat(told()).containsExactly("1 reads", "2 reads");
    }

    /** Its fence needs no further write. */
    @Test
    void aReleaseWithTheTokenOfTheHoldWakesReadersToo() throws Exception {
        long token = token();
        bench.write(ALICE, token, PLAIN);
        reads(10, "lock:wake:1");
        assertThat(bench.endWriter(ALICE, token, "leave", "lock:wake:none")).containsExactly("released", "woken");
        assertThat(told()).containsExactly("1 reads");
    }

    @Test
    void withoutWritersAllReadersAreWokenAndHaveAWindow() throws Exception {
        bench.write(ALICE, token(), PLAIN);
        reads(10, "lock:wake:1");
        reads(20, "lock:wake:2");
        assertThat(endWriter(ALICE)).containsExactly("released", "woken");
        assertThat(told()).containsExactly("1 reads", "2 reads");
        for (String each : List.of("alock:wake:1", "alock:wake:2")) {
            assertThat(-SERVER.redis().zscore(bench.readWatchers, each))
                    .isBetween((double) bench.now() - 20 * SECOND, (double) bench.now() + SECOND);
        }
    }

    /** A writer that was kept out, or withdraws, lets in the readers behind it; no writer comes beside readers. */
    @Test
    void whileReadersHoldOnlyReadersAreWoken() throws Exception {
        bench.read(ALICE, token(), PLAIN);
        bench.read(BOB, token(), PLAIN);
        reads(10, "lock:wake:1");
        writes(20, "lock:wake:2");
        reads(30, "lock:wake:3");
        assertThat(endReader(BOB)).containsExactly("released", "woken");
        assertThat(told()).containsExactly("1 reads");
        assertThat(endWriter(CAROL)).containsExactly("not-ours");
        assertThat(told()).containsExactly("1 reads");
        SERVER.redis().del(bench.readWatchers);
        assertThat(endWriter(CAROL)).containsExactly("not-ours");
        assertThat(told()).isEmpty();
        assertThat(endReader(ALICE)).containsExactly("released", "woken");
        assertThat(told()).as("the last reader has left").containsExactly("2");
    }

    /** The end of the writer follows a downgrade at every member. */
    @Test
    void readersThatWaitAreWokenAfterADowngrade() throws Exception {
        bench.write(CAROL, token(), PLAIN);
        reads(10, "lock:wake:1");
        writes(20, "lock:wake:2");
        assertThat(bench.downgrade(ALICE, token(), CAROL, PLAIN)).startsWith("yes");
        assertThat(told()).isEmpty();
        assertThat(endWriter(CAROL)).containsExactly("not-ours");
        assertThat(told()).containsExactly("1 reads");
    }

    @Test
    void whileAWriterHoldsNobodyIsWoken() throws Exception {
        bench.write(ALICE, token(), PLAIN);
        reads(10, "lock:wake:1");
        writes(20, "lock:wake:2");
        assertThat(endWriter(BOB)).containsExactly("not-ours");
        assertThat(endReader(BOB)).containsExactly("not-ours");
        assertThat(told()).isEmpty();
    }

    @Test
    void thoseThatCannotBeReachedArePassedOverAndDropped() throws Exception {
        bench.write(ALICE, token(), PLAIN);
        reads(10, DEAF);
        writes(20, DEAF);
        reads(30, DEAF + "-2");
        writes(40, "lock:wake:4");
        assertThat(endWriter(ALICE)).containsExactly("released", "woken");
        assertThat(told()).containsExactly("4");
        assertThat(bench.in(bench.readWatchers)).isEmpty();
        assertThat(bench.in(bench.watchers)).hasSize(2);
    }

    @Test
    void theDeadAreDroppedFirst() throws Exception {
        bench.write(ALICE, token(), PLAIN);
        bench.watches(bench.readWatchers, 10, "lock:wake:1", bench.now() - SECOND);
        bench.watches(bench.watchers, 20, "lock:wake:2", bench.now() - SECOND);
        writes(30, "lock:wake:3");
        assertThat(endWriter(ALICE)).containsExactly("released", "woken");
        assertThat(told()).containsExactly("3");
        assertThat(SERVER.redis().exists(bench.readWatchers)).isZero();
    }

    /** A client wakes its own attempts of the kind that ends; those of the other kind are woken as of another client. */
    @Test
    void aClientIsWokenByItsEndOnlyWithTheOtherKind() throws Exception {
        bench.write(ALICE, token(), PLAIN);
        writes(10, OWN);
        writes(20, "lock:wake:2");
        assertThat(bench.endWriter(ALICE, token(), "stay", OWN)).containsExactly("released");
        assertThat(told()).isEmpty();
        bench.write(ALICE, token(), PLAIN.at(1));
        reads(5, OWN);
        assertThat(bench.endWriter(ALICE, token(), "stay", OWN)).containsExactly("released", "woken");
        assertThat(told()).containsExactly("own reads");
        SERVER.redis().del(bench.watchers);
        bench.read(ALICE, token(), PLAIN);
        assertThat(bench.endReader(ALICE, token(), "stay", OWN)).containsExactly("released");
        assertThat(told()).isEmpty();
        reads(7, "lock:wake:1");
        writes(9, "lock:wake:2");
        bench.read(ALICE, token(), PLAIN.at(1));
        assertThat(bench.endReader(ALICE, token(), "stay", OWN)).containsExactly("released", "woken");
        assertThat(told()).as("the other first reader").containsExactly("1 reads");
        SERVER.redis().del(bench.readWatchers);
        writes(3, OWN);
        bench.read(ALICE, token(), PLAIN.at(1));
        assertThat(bench.endReader(ALICE, token(), "stay", OWN)).containsExactly("released", "woken");
        assertThat(told()).containsExactly("own");
    }
}
