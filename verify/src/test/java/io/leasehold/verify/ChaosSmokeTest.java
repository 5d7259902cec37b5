package io.leasehold.verify;

import static org.assertj.core.api.Assertions.assertThat;

import io.leasehold.servers.RedisServer;
import io.leasehold.servers.ServerUnavailableException;
import io.leasehold.verify.chaos.ChaosCommand;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import picocli.CommandLine;

/** The harness itself works: it runs, judges, detects broken locks, and refuses invalid arguments. */
@Tag("full")
final class ChaosSmokeTest {

    /** The result of a command. */
    private record Outcome(int exitCode, List<String> lines) {}

    private static Outcome run(String... args) {
        PrintStream before = System.out;
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        try {
            int exitCode = new CommandLine(new ChaosCommand())
                    .setCaseInsensitiveEnumValuesAllowed(true)
                    .execute(args);
            return new Outcome(
                    exitCode, out.toString(StandardCharsets.UTF_8).lines().toList());
        } finally {
            System.setOut(before);
        }
    }

    private static void needsRedis() {
        try {
            RedisServer.start().close();
        } catch (ServerUnavailableException e) {
            Assumptions.abort("no Redis server on this machine: " + e.getMessage());
        }
    }

    @Test
    void aShortRunOverRedisFindsNothing() {
        needsRedis();
        Outcome outcome = run("--minutes", "0.1", "--clients", "3", "--ttl", "1000", "--seed", "5");
        assertThat(outcome.lines()).hasSize(1);
        assertThat(outcome.lines().get(0))
                .contains("overlaps=0, token regressions=0")
                .contains("OWNER_AWARE=0 REENTRANT=0 FENCED=0 REENTRANT_FENCED=0")
                .contains("checking=0 of");
        assertThat(outcome.exitCode()).isZero();
    }

    @Test
    void aShortRunOverSqliteFindsNothing() {
        Outcome outcome =
                run("--minutes", "0.1", "--clients", "3", "--ttl", "1000", "--seed", "6", "--store", "sqlite");
        assertThat(outcome.lines().get(0))
                .contains("overlaps=0, token regressions=0")
                .contains("OWNER_AWARE=0 REENTRANT=0 FENCED=0 REENTRANT_FENCED=0")
                .contains("checking=0 of");
        assertThat(outcome.exitCode()).isZero();
    }

    @ParameterizedTest
    @ValueSource(strings = {"readers", "permits", "tickets"})
    void aShortRunOfEachKindFindsNothing(String kind) {
        Outcome outcome = run(
                "--kind",
                kind,
                "--minutes",
                "0.1",
                "--clients",
                "3",
                "--ttl",
                "1000",
                "--seed",
                "6",
                "--store",
                "sqlite");
        assertThat(outcome.lines().get(0))
                .startsWith("chaos sqlite " + kind)
                .contains("overlaps=0, token regressions=0")
                .contains("orphans and liveness=0")
                .contains("checking=0 of");
        assertThat(outcome.exitCode()).isZero();
    }

    @Test
    void aRunInWhichNoTicketGaveALeaseGoesOn() {
        Outcome outcome = run(
                "--kind",
                "tickets",
                "--minutes",
                "0.001",
                "--clients",
                "3",
                "--ttl",
                "1000",
                "--seed",
                "6",
                "--store",
                "sqlite");
        assertThat(outcome.lines().get(0)).containsPattern("leases resumed [1-9]");
        assertThat(outcome.exitCode()).isZero();
    }

    @Test
    void aKindThatAStoreDoesNotKeepIsRefused() {
        assertThat(run("--kind", "tickets", "--store", "zk").exitCode()).isEqualTo(64);
        assertThat(run("--kind", "permits", "--control").exitCode()).isEqualTo(64);
    }

    @Test
    void aShortRunOverPostgresqlKeepsHouseAndFindsNothing() {
        String system = System.getProperty("os.name") + " " + System.getProperty("os.arch");
        Assumptions.assumeTrue(system.equals("Linux amd64"), "the archive of PostgreSQL is for Linux on x86-64");
        Outcome outcome =
                run("--minutes", "0.2", "--clients", "3", "--ttl", "1000", "--seed", "7", "--store", "postgresql");
        assertThat(outcome.lines().get(0))
                .contains("overlaps=0, token regressions=0")
                .contains("orphans and liveness=0")
                .contains("checking=0 of")
                .containsPattern("rows removed by housekeeping [1-9]");
        assertThat(outcome.exitCode()).isZero();
    }

    @Test
    void theBrokenLockIsCaught() {
        needsRedis();
        for (int seed = 1; seed <= 10; seed++) {
            Outcome outcome = run(
                    "--control",
                    "--minutes",
                    "0.15",
                    "--clients",
                    "3",
                    "--locks",
                    "1",
                    "--ttl",
                    "500",
                    "--seed",
                    "" + seed);
            // A violation that only the other checkers find also counts, but is not the one under test here.
            if (outcome.exitCode() == 0 && !outcome.lines().get(0).contains("overlaps=0")) {
                return;
            }
        }
        throw new AssertionError("ten runs of a lock without owner compare, and no overlap was found");
    }

    @Test
    void nonsenseIsRefusedWithItsValue() {
        assertThat(run("--minutes", "-1").exitCode()).isEqualTo(64);
        assertThat(run("--clients", "1").exitCode()).isEqualTo(64);
        assertThat(run("--control", "--store", "sqlite").exitCode()).isEqualTo(64);
        assertThat(run("--store", "paper").exitCode()).isEqualTo(64);
        assertThat(run("--unknown").exitCode()).isEqualTo(64);
    }
}
