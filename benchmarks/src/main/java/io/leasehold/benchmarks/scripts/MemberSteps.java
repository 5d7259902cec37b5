package io.leasehold.benchmarks.scripts;

import io.leasehold.redis.wire.LuaScript;
import java.util.List;

/** The scripts of a member of a set, one change after the other, for a server with this run id. */
final class MemberSteps {

    static final String MARKER = "lock:member";

    private static final String SET =
            "5 nodes [redis://127.0.0.1:40001, redis://127.0.0.1:40002, redis://127.0.0.1:40003,"
                    + " redis://127.0.0.1:40004, redis://127.0.0.1:40005], maxTtl 30000 ms";
    private static final String BOUND = "7500000";
    private static final long QUARANTINE_MICROS = 31_300_000;

    private final String runId;

    MemberSteps(String runId) {
        this.runId = runId;
    }

    /** The marker of a member that has remembered for long enough. */
    String marker() {
        return "born|1700000000000000|" + runId + "|" + SET;
    }

    List<Step> ladder() {
        String acquire = LuaScript.MEMBER_ACQUIRE.text();
        String release = LuaScript.MEMBER_RELEASE.text();
        String releases = LuaScript.MEMBER_RELEASE_MANY.text();
        return List.of(
                new Step(
                        "member: member_acquire.lua with INFO, member_release.lua",
                        acquire,
                        release,
                        1,
                        (lock, token) -> whole(lock, token, "volatile"),
                        MemberSteps::freed),
                new Step(
                        "member: member_acquire.lua with the run id, member_release.lua",
                        acquire,
                        release,
                        1,
                        (lock, token) -> whole(lock, token, runId),
                        MemberSteps::freed),
                new Step(
                        "member: member_acquire.lua with the run id, member_release_many.lua",
                        acquire,
                        releases,
                        1,
                        (lock, token) -> whole(lock, token, runId),
                        MemberSteps::held),
                many("member: member_acquire_many.lua with INFO, member_release_many.lua", 1, "volatile"),
                many("member: member_acquire_many.lua with the run id, member_release_many.lua", 1, runId),
                many("member: the same, 32 in one", 32, runId));
    }

    private static Step many(String name, int together, String life) {
        return new Step(
                name,
                LuaScript.MEMBER_ACQUIRE_MANY.text(),
                LuaScript.MEMBER_RELEASE_MANY.text(),
                together,
                new Step.Part(List.of(MARKER), List.of(SET, BOUND, life)),
                (lock, token) -> new Step.Part(
                        List.of(lock, lock + ":fence", lock + ":readers-wait"),
                        List.of(value(token), Step.TTL, token, latestBirth(token))),
                MemberSteps::held);
    }

    private static String value(String token) {
        return Step.OWNER + ":" + token + ":host/4242/1f2e3d4c";
    }

    private static String latestBirth(String token) {
        return Long.toString(Long.parseLong(token) - QUARANTINE_MICROS);
    }

    private static Step.Part whole(String lock, String token, String life) {
        return new Step.Part(
                List.of(
                        lock,
                        lock + ":fence",
                        lock + ":watchers",
                        MARKER,
                        lock + ":read-watchers",
                        lock + ":readers",
                        lock + ":readers-wait"),
                List.of(
                        value(token),
                        Step.TTL,
                        token,
                        token,
                        "60000000",
                        BOUND,
                        "0",
                        "lock:wake:0011223344556677",
                        token,
                        SET,
                        token,
                        Long.toString(QUARANTINE_MICROS),
                        life));
    }

    private static Step.Part freed(String lock, String token) {
        return new Step.Part(
                List.of(
                        lock,
                        lock + ":fence",
                        lock + ":watchers",
                        lock + ":read-watchers",
                        lock + ":readers",
                        lock + ":readers-wait"),
                List.of(Step.OWNER, token, "60000000", BOUND, "lock:wake:0011223344556677", "3000000", "leave"));
    }

    private static Step.Part held(String lock, String token) {
        return new Step.Part(
                List.of(lock, lock + ":watchers", lock + ":read-watchers"), List.of(Step.OWNER + ":" + token + ":"));
    }
}
