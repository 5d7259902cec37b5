package io.leasehold.redis.wire;

import static io.leasehold.redis.wire.ScriptBench.ALICE;
import static io.leasehold.redis.wire.ScriptBench.BOB;
import static io.leasehold.redis.wire.ScriptBench.CAROL;
import static io.leasehold.redis.wire.ScriptBench.plain;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lettuce.core.AclSetuserArgs;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.protocol.CommandType;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Tests of the state after a request that is refused half-way: a right is missing, or a key belongs to another program.
 */
@Tag("quick")
class QueueRefusalsTest extends QueueBehind {

    @AfterEach
    void allow() {
        redis().aclSetuser("default", AclSetuserArgs.Builder.allCommands());
    }

    private void deny(CommandType command) {
        redis().aclSetuser("default", AclSetuserArgs.Builder.removeCommand(command));
    }

    @Test
    void anAcquireThatIsRefusedLeavesTheLockToNoWaiterThatWasNotReached() {
        for (int i = 0; i < 12; i++) {
            assertThat(ask(owner(i), plain().waiting(PLACE, DEAF).claiming(CLAIM)))
                    .startsWith("queued");
        }
        List<String> before = bench.everybody();
        redis().del(bench.lock);
        deny(CommandType.HMGET);

        assertThatThrownBy(() -> ask(CAROL, plain()))
                .isInstanceOf(RedisCommandExecutionException.class)
                .hasMessageContaining("hmget");

        assertThat(redis().get(bench.lock))
                .as("held by a waiter that was not reached")
                .isNull();
        assertThat(bench.everybody()).isEqualTo(before);
    }

    @Test
    void whatCannotBeReadStaysWithThoseBehind() {
        fill(12);
        List<String> front = bench.queue().owners();
        List<String> behind = line.subList(front.size(), line.size());
        deny(CommandType.HMGET);
        String holder = ALICE;
        for (String next : front) {
            bench.release(holder, 0);
            assertThat(redis().get(bench.lock)).startsWith(next + ":");
            holder = next;
        }
        assertThat(bench.release(holder, 0)).startsWith("released");

        assertThat(redis().hkeys(bench.wanted)).containsExactlyInAnyOrderElementsOf(behind);
        allow();
        assertThat(bench.everybody()).isEqualTo(behind);
    }

    @Test
    void aWaiterThatIsServedLeavesTheFrontAlsoWhereTheCallerCannotJoinIt() {
        for (String key : List.of(bench.behind, bench.wanted)) {
            redis().flushall();
            bench.acquire(ALICE, bench.now());
            redis().set(key, "theirs");
            ask(owner(0), waits(PLACE));
            int i = 1;
            // The ids are long enough that the front is full even without the first waiter.
            while (ask(owner(i), waits(PLACE).holder("h".repeat(450))).get(0).equals("queued")) {
                i++;
            }
            redis().del(bench.lock);

            assertThat(ask(BOB, waits(PLACE))).startsWith("broken").endsWith(key, "string");

            assertThat(redis().get(bench.lock)).startsWith(owner(0) + ":");
            assertThat(bench.queue().owners()).hasSize(i - 1).doesNotContain(owner(0));
        }
    }

    @Test
    void aWaiterThatComesBackIsNotAmongTheDeadThatItDrops() {
        fill(12);
        String last = owner(11);
        die(last);
        redis().hdel(bench.wanted, last);

        assertThat(ask(last, waits(PLACE))).startsWith("queued");

        assertThat(redis().hexists(bench.wanted, last)).isTrue();
        handOverAll(line);
    }
}
