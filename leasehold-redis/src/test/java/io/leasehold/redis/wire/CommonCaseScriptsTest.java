package io.leasehold.redis.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.lettuce.core.RedisCommandExecutionException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Tests that the scripts of the common case for one caller have the effect of those for several, one lock after the
 * other.
 */
@Tag("quick")
class CommonCaseScriptsTest extends ManyScriptsTest {

    @Override
    List<Object> acquire(long candidate, ScriptBench... locks) {
        List<Object> answers = new ArrayList<>();
        for (ScriptBench lock : locks) {
            answers.add(answer(() -> take(candidate, lock)));
        }
        return answers;
    }

    private List<Object> take(long candidate, ScriptBench lock) {
        return eval(
                LuaScript.ACQUIRE_FREE,
                List.of(lock.lock, lock.fence, lock.queued),
                List.of(ALICE + ":" + candidate + ":host/1/x", "30000", Long.toString(candidate)));
    }

    @Override
    List<Object> release(String owner, long ballot, ScriptBench... locks) {
        List<Object> answers = new ArrayList<>();
        for (ScriptBench lock : locks) {
            answers.add(answer(() -> eval(
                    LuaScript.RELEASE_HELD, List.of(lock.lock, lock.queued), List.of(owner + ":" + ballot + ":"))));
        }
        return answers;
    }

    private interface Call {
        List<Object> run();
    }

    private static Object answer(Call call) {
        try {
            List<Object> reply = call.run();
            return reply.size() == 1 ? reply.get(0) : reply.size() == 2 ? 1L : reply;
        } catch (RedisCommandExecutionException e) {
            return 0L;
        }
    }

    @Test
    void aGrantIsTheServersTime() {
        List<Object> reply = take(one.now(), one);
        assertThat(reply).hasSize(2);
        assertThat(Long.parseLong(reply.get(0).toString()) * SECOND)
                .isBetween(one.now() - 100 * SECOND, one.now() + 100 * SECOND);
    }

    @Test
    void aFullServerSaysSo() {
        long candidate = one.now();
        redis().configSet("maxmemory", "1");
        try {
            assertThatThrownBy(() -> take(candidate, one)).hasMessageContaining("OOM");
        } finally {
            redis().configSet("maxmemory", "0");
        }
    }
}
