package io.leasehold.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.LockName;
import io.leasehold.redis.RedisUnderTest;
import io.lettuce.core.ScriptOutputType;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests of places at a member that releases a lock, and of the height to which a release raises a fence. */
@Tag("quick")
final class MemberReleaseScriptTest {

    private static final String OWNER = "a".repeat(40);
    private static final String CHANNEL = "lock:wake:0011223344556677";
    private static final long SECOND = 1_000_000;
    private static final long BOUND = 7_500_000;

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final String lock = KeyLayout.standard().lock(LockName.exactly("order:1"));
    private final String fence = KeyLayout.fence(lock);
    private final String watchers = KeyLayout.watchers(lock);
    private final String[] keys = {
        lock, fence, watchers, KeyLayout.readWatchers(lock), KeyLayout.readers(lock), KeyLayout.readersWait(lock)
    };

    private static long now() {
        List<String> time = SERVER.redis().time();
        return Long.parseLong(time.get(0)) * SECOND + Long.parseLong(time.get(1));
    }

    private List<Object> release(String mode) {
        return SERVER.redis()
                .eval(
                        LuaScript.MEMBER_RELEASE.text(),
                        ScriptOutputType.MULTI,
                        keys,
                        OWNER,
                        "5",
                        Long.toString(60 * SECOND),
                        Long.toString(BOUND),
                        CHANNEL,
                        Long.toString(SECOND),
                        mode);
    }

    private void heldAndWaitedForByItsOwnClient() {
        SERVER.redis().set(lock, OWNER + ":5:host/1/x");
        SERVER.redis().zadd(watchers, 1, "q" + CHANNEL);
        SERVER.redis().zadd(watchers, (double) -(now() + 60 * SECOND), "a" + CHANNEL);
    }

    /** Its channel has no listener here: a notification would drop the waiter. */
    @Test
    void aClientThatStaysKeepsItsPlaceAndIsNotTold() {
        heldAndWaitedForByItsOwnClient();

        assertThat(release("stay")).containsExactly("released");

        assertThat(SERVER.redis().zrange(watchers, 0, -1)).containsExactlyInAnyOrder("q" + CHANNEL, "a" + CHANNEL);
    }

    @Test
    void aClientThatLeavesHasNoPlace() {
        heldAndWaitedForByItsOwnClient();

        assertThat(release("leave")).containsExactly("released");

        assertThat(SERVER.redis().exists(watchers)).isZero();
    }

    @Test
    void aFenceIsNotRaisedBeyondItsBound() {
        long before = now();
        SERVER.redis()
                .eval(
                        LuaScript.RAISE_FENCE.text(),
                        ScriptOutputType.MULTI,
                        new String[] {fence},
                        Long.toString(before + 600 * SECOND),
                        Long.toString(60 * SECOND),
                        Long.toString(BOUND));

        assertThat(Long.parseLong(SERVER.redis().get(fence))).isBetween(before + BOUND, now() + BOUND);
    }

    /** The other channel has no listener: a notification would drop the waiter. */
    @Test
    void whileAnotherHoldsTheLockNobodyIsTold() {
        SERVER.redis().set(lock, "b".repeat(40) + ":5:host/2/y");
        SERVER.redis().zadd(watchers, 1, "qlock:wake:other");
        SERVER.redis().zadd(watchers, (double) -(now() + 60 * SECOND), "alock:wake:other");

        assertThat(release("leave")).containsExactly("not-ours");

        assertThat(SERVER.redis().zcard(watchers)).isEqualTo(2);
    }

    @Test
    void aFenceThatIsNotOursStaysAsItIs() {
        SERVER.redis().lpush(fence, "x");
        SERVER.redis()
                .eval(
                        LuaScript.MEMBER_RELEASE.text(),
                        ScriptOutputType.MULTI,
                        keys,
                        OWNER,
                        Long.toString(now()),
                        Long.toString(60 * SECOND),
                        Long.toString(BOUND),
                        CHANNEL,
                        Long.toString(SECOND),
                        "leave");
        assertThat(SERVER.redis().type(fence)).isEqualTo("list");
    }
}
