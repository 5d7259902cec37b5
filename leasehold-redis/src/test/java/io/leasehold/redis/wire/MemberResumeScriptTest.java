package io.leasehold.redis.wire;

import static io.leasehold.redis.wire.ScriptBench.ALICE;
import static io.leasehold.redis.wire.ScriptBench.BOB;
import static io.leasehold.redis.wire.ScriptBench.CAROL;
import static io.leasehold.redis.wire.ScriptBench.SECOND;
import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.redis.RedisUnderTest;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Tests of {@code member_resume.lua}, and of the vote that is returned with {@code export.lua}. */
@Tag("quick")
class MemberResumeScriptTest {

    private static final String TICKET = "f".repeat(40);

    @RegisterExtension
    static final RedisUnderTest SERVER = new RedisUnderTest();

    private final ScriptBench bench = new ScriptBench(SERVER, "order:1");
    private long estimate = 1_000;
    private long quarantine;
    private String configuration = "set";
    private String life = "volatile";

    private RedisCommands<String, String> redis() {
        return SERVER.redis();
    }

    @BeforeEach
    void declareNewAndExport() {
        redis().eval(
                        LuaScript.MEMBER_BIRTH.text(),
                        ScriptOutputType.MULTI,
                        new String[] {KeyLayout.marker()},
                        "*",
                        "0",
                        "set");
        bench.acquire(ALICE, bench.now());
        assertThat(bench.export(ALICE, bench.now(), TICKET, 60_000)).contains("exported");
    }

    private List<Object> resume(String owner, long candidate, long ttlMillis) {
        return redis().eval(
                        LuaScript.MEMBER_RESUME.text(),
                        ScriptOutputType.MULTI,
                        new String[] {bench.lock, bench.fence, KeyLayout.marker()},
                        owner + ":" + candidate + ":host/1/x",
                        Long.toString(ttlMillis),
                        Long.toString(candidate),
                        TICKET,
                        Long.toString(60 * SECOND),
                        Long.toString(7 * SECOND),
                        configuration,
                        Long.toString(estimate),
                        Long.toString(quarantine),
                        life);
    }

    private List<Object> vote(String owner, long candidate) {
        return resume(owner, candidate, 0);
    }

    private long ahead() {
        return bench.now() + SECOND;
    }

    /** A vote moves no end: nothing outlives the claim of a ticket that another caller may win. */
    @Test
    void aVoteMovesNoEnd() {
        assertThat(redis().pexpire(bench.lock, 9_000)).isTrue();
        long candidate = ahead();
        assertThat(vote(BOB, candidate)).startsWith("yes");
        assertThat(redis().pttl(bench.lock)).isBetween(1L, 9_000L);
        assertThat(redis().get(bench.lock)).isEqualTo(BOB + ":" + candidate + ":host/1/x");
        assertThat(bench.storedFence()).isEqualTo(candidate);
        assertThat(redis().pexpire(bench.lock, 4_000)).isTrue();
        assertThat(vote(BOB, candidate + 1)).as("of an own lock").startsWith("yes");
        assertThat(redis().pttl(bench.lock)).isBetween(1L, 4_000L);
    }

    /** The ttl of a claimant that has won replaces the rest of the claim, longer or shorter; a copy is stale. */
    @Test
    void theTtlReplacesTheRestOfTheClaim() {
        long candidate = ahead();
        vote(BOB, candidate);
        assertThat(resume(BOB, candidate + 1, 20_000)).startsWith("yes");
        assertThat(redis().pttl(bench.lock)).isBetween(15_000L, 20_000L);
        assertThat(redis().pexpire(bench.lock, 90_000)).isTrue();
        assertThat(resume(BOB, candidate + 1, 20_000)).as("a copy").startsWith("stale");
        assertThat(redis().pttl(bench.lock)).isGreaterThan(80_000);
    }

    @Test
    void aNodeThatWasNotAskedToVoteJoins() {
        assertThat(resume(BOB, ahead(), 20_000)).startsWith("yes");
        assertThat(redis().pttl(bench.lock)).isBetween(15_000L, 20_000L);
    }

    @Test
    void itTakesNeitherAFreeLockNorThatOfAnother() {
        long candidate = ahead();
        vote(BOB, candidate);
        assertThat(vote(CAROL, candidate + 1)).contains("not-ours", "lock");
        assertThat(vote(CAROL, candidate)).startsWith("stale");
        assertThat(vote(BOB, bench.now() + 100 * SECOND)).startsWith("refused");
        redis().del(bench.lock);
        assertThat(vote(BOB, candidate + 2)).contains("not-ours", "free");
        assertThat(resume(BOB, candidate + 2, 20_000)).contains("not-ours", "free");
        assertThat(redis().exists(bench.lock)).isZero();
    }

    @Test
    void onlyAMemberThatHasRememberedForLongEnoughVotes() {
        quarantine = estimate + 1;
        assertThat(vote(BOB, ahead())).startsWith("young").endsWith("1");
        quarantine = estimate;
        configuration = "another";
        assertThat(vote(BOB, ahead())).contains("other", "set");
        configuration = "set";
        String marker = redis().get(KeyLayout.marker());
        redis().set(KeyLayout.marker(), marker.replaceFirst("\\|\\w{40}\\|", "|" + "0".repeat(40) + "|"));
        assertThat(vote(BOB, ahead())).startsWith("unborn");
        assertThat(redis().get(KeyLayout.marker())).startsWith("unborn");
        redis().del(KeyLayout.marker());
        life = "durable";
        assertThat(vote(BOB, ahead())).startsWith("unborn");
        assertThat(redis().get(bench.lock)).isEqualTo(ScriptBench.ticketOf(TICKET));
        redis().set(KeyLayout.marker(), marker);
        assertThat(vote(BOB, ahead())).startsWith("yes");
    }

    /** The ticket is back until the end of its claim, and a late copy of the vote is stale. */
    @Test
    void aVoteIsGivenBack() {
        long candidate = ahead();
        vote(BOB, candidate);
        assertThat(redis().pexpire(bench.lock, 9_000)).isTrue();
        assertThat(bench.export(BOB, candidate + 5, TICKET, 0)).contains("exported");
        assertThat(redis().get(bench.lock)).isEqualTo(ScriptBench.ticketOf(TICKET));
        assertThat(redis().pttl(bench.lock)).isBetween(1L, 9_000L);
        assertThat(vote(BOB, candidate + 5)).startsWith("stale");
        assertThat(vote(CAROL, candidate + 6)).startsWith("yes");
        assertThat(bench.export(BOB, candidate + 5, TICKET, 0))
                .as("a late return")
                .contains("not-ours");
    }

    @Test
    void aForeignFenceIsReported() {
        redis().del(bench.fence);
        redis().sadd(bench.fence, "x");
        assertThat(vote(BOB, ahead())).contains("broken", bench.fence, "set");
    }
}
