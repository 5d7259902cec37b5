package io.leasehold.redis.node;

import static io.leasehold.redis.topology.ScriptedRedis.bulks;
import static io.leasehold.redis.topology.ScriptedRedis.until;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.StoreAccessException;
import io.leasehold.redis.wire.KeyLayout;
import io.leasehold.redis.wire.LuaScript;
import io.leasehold.spi.FailureKind;
import io.leasehold.spi.ReleaseReply;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests of the requests and answers of a node when locks are released. */
@Tag("quick")
@Timeout(120)
final class ReleaseExchangesTest extends NodeExchanges {

    @Test
    void aReleaseThatIsRefusedForARightIsRepeated() throws Exception {
        says(LuaScript.RELEASE, "-NOPERM no\r\n");
        assertThat(release(node(), NAME)).isInstanceOfSatisfying(ReleaseReply.Failed.class, failed -> {
            assertThat(failed.kind()).isEqualTo(FailureKind.NO_EFFECT);
            assertThat(failed.error()).isInstanceOf(StoreAccessException.class);
        });
        says(LuaScript.RELEASE, "-WRONGTYPE no\r\n");
        assertThat(release(node(), NAME))
                .isInstanceOfSatisfying(
                        ReleaseReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT));
        assertThat(last(LuaScript.RELEASE).subList(6, 8)).containsExactly(owner.hex(), "77");
    }

    @Test
    void ofSeveralLocksThatAreEndedTheWorstAnswerCounts() throws Exception {
        String released = bulks("released");
        String notOurs = bulks("not-ours");
        String unknown = bulks("clamped", "5");
        String permanent = "-WRONGTYPE no\r\n";
        record Case(String one, String other, Class<?> type, FailureKind kind) {}
        for (Case c : List.of(
                new Case(released, released, ReleaseReply.Released.class, null),
                new Case(released, notOurs, ReleaseReply.Released.class, null),
                new Case(notOurs, released, ReleaseReply.Released.class, null),
                new Case(notOurs, notOurs, ReleaseReply.NotOurs.class, null),
                new Case(permanent, released, ReleaseReply.Failed.class, FailureKind.PERMANENT),
                new Case(released, permanent, ReleaseReply.Failed.class, FailureKind.PERMANENT),
                new Case(permanent, notOurs, ReleaseReply.Failed.class, FailureKind.PERMANENT),
                new Case(notOurs, permanent, ReleaseReply.Failed.class, FailureKind.PERMANENT),
                new Case(permanent, unknown, ReleaseReply.Failed.class, FailureKind.UNKNOWN),
                new Case(unknown, permanent, ReleaseReply.Failed.class, FailureKind.UNKNOWN),
                new Case(unknown, released, ReleaseReply.Failed.class, FailureKind.UNKNOWN))) {
            scripts.put(LuaScript.RELEASE.sha1(), command -> command.get(3).equals(LOCK) ? c.one() : c.other());
            assertThat(release(node(), NAME, OTHER)).as("%s", c).isInstanceOfSatisfying(c.type(), reply -> {
                if (reply instanceof ReleaseReply.Failed failed) {
                    assertThat(failed.kind()).as("%s", c).isEqualTo(c.kind());
                }
            });
        }
    }

    /**
     * No script may use keys of two servers. So one script raises the fence, the next one deletes the lock, and the
     * whole release follows.
     */
    @Test
    void whileItsSlotIsMovedALockIsReleasedByItself() throws Exception {
        AtomicBoolean moving = new AtomicBoolean(true);
        List<String> order = new CopyOnWriteArrayList<>();
        scripts.put(LuaScript.RELEASE.sha1(), command -> {
            order.add("whole");
            return moving.get() ? TRY_AGAIN : bulks("released");
        });
        scripts.put(LuaScript.RAISE_FENCE.sha1(), command -> {
            order.add("fence " + String.join(" ", command.subList(3, command.size())));
            return bulks("released");
        });
        scripts.put(LuaScript.RELEASE_KEY.sha1(), command -> {
            order.add("lock " + String.join(" ", command.subList(3, command.size())));
            return bulks("released");
        });
        assertThat(release(node(), NAME)).isInstanceOf(ReleaseReply.Released.class);
        assertThat(order.subList(0, 3))
                .containsExactly(
                        "whole",
                        "fence " + KeyLayout.fence(LOCK) + " 77 60000000 7500000",
                        "lock " + LOCK + " " + owner.hex());
        until("it is repeated", () -> order.size() >= 6);
        moving.set(false);
        int before = order.size();
        until("it is served", () -> order.size() > before);
        assertThat(order.subList(3, order.size())).containsOnly("whole");
        assertThat(runtime.delays()).contains(AGAIN_NANOS);
    }

    @Test
    void whatCannotBeReleasedByItselfIsToldAndNotRepeated() throws Exception {
        says(LuaScript.RELEASE, TRY_AGAIN);
        says(LuaScript.RAISE_FENCE, "-WRONGTYPE no\r\n");
        assertThat(release(node(), NAME))
                .isInstanceOfSatisfying(
                        ReleaseReply.Failed.class,
                        failed -> assertThat(failed.kind()).isEqualTo(FailureKind.PERMANENT));
        assertThat(ran(LuaScript.RELEASE_KEY)).isEmpty();
        says(LuaScript.RAISE_FENCE, bulks("released"));
        says(LuaScript.RELEASE_KEY, "-WRONGTYPE no\r\n");
        assertThat(release(node(), NAME)).isInstanceOf(ReleaseReply.Failed.class);
        assertThat(runtime.delays()).doesNotContain(AGAIN_NANOS);
        assertThat(FailedReplies.isOfMigration(new ReleaseReply.NotOurs())).isFalse();
    }

    /** Until the client closes, and for a minute at most: by then each waiter has retried by itself. */
    @Test
    void aReleaseDuringAMoveIsRepeatedForAMinuteAndNotAfterTheClose() throws Exception {
        says(LuaScript.RELEASE, TRY_AGAIN);
        says(LuaScript.RAISE_FENCE, bulks("released"));
        says(LuaScript.RELEASE_KEY, bulks("not-ours"));
        List<Runnable> later = Collections.synchronizedList(new ArrayList<>());
        long[] now = {0};
        io.leasehold.spi.LockRuntime ruled = (io.leasehold.spi.LockRuntime) Proxy.newProxyInstance(
                getClass().getClassLoader(),
                new Class<?>[] {io.leasehold.spi.LockRuntime.class},
                (self, method, arguments) -> {
                    if (method.getName().equals("nanoTime")) {
                        return now[0];
                    }
                    if (method.getName().equals("schedule") && arguments[0].equals(AGAIN_NANOS)) {
                        later.add((Runnable) arguments[1]);
                        return (io.leasehold.spi.LockRuntime.Timer) () -> {};
                    }
                    return method.invoke(runtime, arguments);
                });
        RedisNode node = new RedisNode("the node", settings(false), topology, where.errors(), ruled);
        assertThat(release(node, NAME)).isInstanceOf(ReleaseReply.NotOurs.class);
        assertThat(later).hasSize(1);
        now[0] = TimeUnit.SECONDS.toNanos(60) - 1;
        later.remove(0).run();
        until("once more", () -> later.size() == 1);
        now[0]++;
        later.remove(0).run();
        until("the last is answered", () -> ran(LuaScript.RELEASE).size() == 3);
        answer(node.probe(LIMIT_NANOS));
        assertThat(later).isEmpty();

        assertThat(release(node, NAME)).isInstanceOf(ReleaseReply.NotOurs.class);
        node.close();
        later.remove(0).run();
        assertThat(ran(LuaScript.RELEASE)).hasSize(4);
    }
}
