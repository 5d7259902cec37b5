package io.leasehold.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.redis.RedisUnderTest;
import io.leasehold.spi.HandOver;
import io.leasehold.spi.Incarnation;
import io.leasehold.spi.OwnerToken;
import io.lettuce.core.RedisURI;
import io.lettuce.core.pubsub.RedisPubSubAdapter;
import io.lettuce.core.pubsub.StatefulRedisPubSubConnection;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests of the messages of the scripts that hand permits over: each names the slots, the count and the server. */
@Tag("quick")
final class PermitMessagesTest {

    private static final String HEARD = "lock:wake:0123456789abcdef";
    private static final String UNDERSTANDS = HEARD + "!";

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private static int names;

    private final String name = "permit-messages-" + names++;
    private final PermitBench permits = new PermitBench(SERVER, name);
    private final BlockingQueue<String> pushes = new LinkedBlockingQueue<>();
    private StatefulRedisPubSubConnection<String, String> subscriber;
    private long next;

    @BeforeEach
    void subscribe() {
        List<String> time = SERVER.redis().time();
        next = Long.parseLong(time.get(0)) * 1_000_000 + Long.parseLong(time.get(1));
        subscriber =
                SERVER.client().connectPubSub(RedisURI.create(SERVER.server().uri()));
        subscriber.addListener(new RedisPubSubAdapter<>() {
            @Override
            public void message(String channel, String message) {
                pushes.add(message);
            }
        });
        subscriber.sync().subscribe(HEARD, UNDERSTANDS);
    }

    @AfterEach
    void unsubscribe() {
        subscriber.close();
    }

    /** The count, the letter of the owner token, the candidate and the last token. */
    private String[] words(int count, String letter, int number) {
        String first = Long.toString(++next);
        next += number - 1;
        return new String[] {Integer.toString(count), letter, first, Long.toString(next)};
    }

    private void acquire(int count, String letter, int number) {
        assertThat(permits.acquire(words(count, letter, number), "")).startsWith("yes");
    }

    private void queue(int count, String letter, int number, String channel) {
        assertThat(permits.acquire(words(count, letter, number), channel)).startsWith("queued");
    }

    private String push() {
        try {
            String push = pushes.poll(10, TimeUnit.SECONDS);
            assertThat(push).isNotNull();
            return push;
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    private String runId() {
        return InfoText.fields(SERVER.redis().info("server")).get("run_id");
    }

    /** The message gives what the record has. */
    private void handed(String message, String letter, String runId, int count, Integer... slots) {
        HandOver handOver = Messages.handOver(message, KeyLayout.standard()).orElseThrow();
        assertThat(Messages.writer(message)).contains(new Incarnation(runId));
        assertThat(handOver.attemptId())
                .isEqualTo(OwnerToken.fromHex(PermitBench.owner(letter)).attemptId());
        assertThat(handOver.name().isPermits()).isTrue();
        assertThat(handOver.name().text()).isEqualTo(name);
        assertThat(handOver.name().permitCount()).isEqualTo(count);
        assertThat(handOver.slots()).containsExactly(slots);
        for (int i = 0; i < slots.length; i++) {
            String[] hold = permits.get(Integer.toString(slots[i])).split(":", 4);
            assertThat(hold[0]).isEqualTo(PermitBench.owner(letter));
            assertThat(hold[1]).isEqualTo(Long.toString(handOver.tokens().first() + i));
            assertThat(hold[2])
                    .as("the claim counts from the time in the message")
                    .isEqualTo(Long.toString(handOver.serverMicros() + 4_000_000));
        }
        assertThat(handOver.tokens().last() - handOver.tokens().first()).isEqualTo(slots.length - 1);
        assertThat(permits.get("fence"))
                .isEqualTo(Long.toString(handOver.tokens().last()));
    }

    @Test
    void aReleaseNamesTheServerAsTheClientDoes() {
        acquire(3, "a", 1);
        acquire(3, "b", 1);
        queue(3, "c", 2, UNDERSTANDS);
        assertThat(permits.releaseNaming("a", "0", "0a1b")).containsExactly("released");
        String message = push();
        assertThat(message).startsWith("handed@0a1b:0,2/3 ").doesNotContain(PermitBench.owner("c"));
        handed(message, "c", "0a1b", 3, 0, 2);
    }

    @Test
    void aRequestOfAWaiterNamesTheServerAsTheClientDoes() {
        acquire(2, "a", 2);
        queue(2, "b", 1, UNDERSTANDS);
        String[] ended = permits.get("0").split(":", 4);
        permits.set("0", ended[0] + ":" + ended[1] + ":1:" + ended[3]);
        next += 1_000_000;
        permits.acquireNaming(words(2, "c", 1), UNDERSTANDS, "2c3d");
        handed(push(), "b", "2c3d", 2, 0);
    }

    @Test
    void aClientThatIsNotSureLetsTheScriptReadTheName() {
        acquire(1, "a", 1);
        queue(1, "b", 1, UNDERSTANDS);
        permits.releaseNaming("a", "0", "volatile");
        handed(push(), "b", runId(), 1, 0);
    }

    @Test
    void aReleaseWithoutANameAndAnOperatorLetTheScriptReadIt() {
        acquire(2, "a", 2);
        queue(2, "b", 1, UNDERSTANDS);
        queue(2, "c", 1, UNDERSTANDS);
        queue(2, "d", 1, UNDERSTANDS);
        queue(2, "e", 1, UNDERSTANDS);
        permits.release("a", "0");
        assertThat(push()).startsWith("handed@" + runId() + ":0/2 ");
        handed(push(), "c", runId(), 2, 1);
        assertThat(permits.forceRelease("0", "")).startsWith("removed");
        handed(push(), "d", runId(), 2, 0);
        assertThat(permits.change("3", "2")).containsExactly("changed");
        handed(push(), "e", runId(), 3, 2);
    }

    /** Only clients of a lock wait to read. */
    @Test
    void aLineOfAReaderIsNoWaiter() {
        acquire(1, "a", 1);
        queue(1, "b", 1, UNDERSTANDS);
        queue(1, "c", 1, UNDERSTANDS);
        String queue = permits.record + ":queued";
        SERVER.redis().set(queue, SERVER.redis().get(queue).replaceFirst(" 4000 1 ", " r4000 1 "));
        permits.release("a", "0");
        handed(push(), "c", runId(), 1, 0);
    }

    @Test
    void aChannelThatDoesNotUnderstandTheNameGetsNoSlots() {
        acquire(1, "a", 1);
        queue(1, "b", 1, HEARD);
        permits.releaseNaming("a", "0", "0a1b");
        String message = push();
        assertThat(message)
                .startsWith(
                        "handed " + OwnerToken.fromHex(PermitBench.owner("b")).attemptId() + " ");
        assertThat(Messages.writer(message)).isEmpty();
        assertThat(Messages.handOver(message, KeyLayout.standard())
                        .orElseThrow()
                        .slots())
                .isEmpty();
    }

    @Test
    void whereTheServerDoesNotTellItsRunIdTheMessageNamesNoSlots() {
        acquire(1, "a", 1);
        queue(1, "b", 1, UNDERSTANDS);
        String user = SERVER.redis().aclWhoami();
        SERVER.server().call("ACL", "SETUSER", user, "-info");
        try {
            assertThat(permits.release("a", "0")).containsExactly("released");
        } finally {
            SERVER.server().call("ACL", "SETUSER", user, "+info");
        }
        assertThat(push())
                .startsWith(
                        "handed " + OwnerToken.fromHex(PermitBench.owner("b")).attemptId() + " ");
    }
}
