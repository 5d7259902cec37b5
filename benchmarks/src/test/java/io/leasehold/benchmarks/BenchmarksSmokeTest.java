package io.leasehold.benchmarks;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.leasehold.benchmarks.measure.Figure;
import io.leasehold.benchmarks.measure.Sample;
import io.leasehold.benchmarks.peer.PeerKind;
import io.leasehold.benchmarks.report.Report;
import io.leasehold.benchmarks.report.RunRecord;
import io.leasehold.servers.RedisServer;
import io.leasehold.servers.ServerUnavailableException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The harness works: it measures in this JVM and in others, reports, writes, and refuses invalid arguments. It judges
 * no figure.
 */
@Tag("full")
final class BenchmarksSmokeTest {

    @TempDir
    private Path folder;

    /** The exit code and output of a command. */
    private record Outcome(int exitCode, String text) {}

    private static Outcome run(String... args) {
        PrintStream before = System.out;
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        try {
            int exitCode = Main.run(args);
            return new Outcome(exitCode, out.toString(StandardCharsets.UTF_8));
        } finally {
            System.setOut(before);
        }
    }

    @Test
    void aTinyRunMeasuresReportsAndWrites() throws IOException {
        try {
            RedisServer.start().close();
        } catch (ServerUnavailableException e) {
            Assumptions.abort("no Redis server on this machine: " + e.getMessage());
        }
        Path json = folder.resolve("run.json");
        Path page = folder.resolve("page.md");
        Files.writeString(page, "before\n<!-- figures: begin -->\nof last year\n<!-- figures: end -->\nafter\n");
        Outcome outcome = run(
                "a",
                "c",
                "e",
                "f",
                "turns",
                "clients",
                "--peers",
                "leasehold,raw",
                "--rounds",
                "1",
                "--window-ms",
                "150",
                "--quick",
                "--json",
                json.toString(),
                "--into",
                page.toString());
        assertThat(outcome.exitCode()).isZero();
        assertThat(outcome.text())
                .contains("a. 1 thread", "c. one hot lock", "– 1 frozen", "Targets", "Where we lose", "scripts/op");
        assertThat(Files.readString(page))
                .startsWith("before\n<!-- figures: begin -->\n")
                .contains("| leasehold |", "| raw |")
                .doesNotContain("of last year")
                .endsWith("<!-- figures: end -->\nafter\n");
        JsonNode run = new ObjectMapper().readTree(json.toFile());
        // a, c, e, turns and clients; and f with all servers up, one frozen, and two killed.
        assertThat(run.get("samples")).hasSize(10 + 3 * 2);
        JsonNode pairs = run.get("samples").get(0);
        assertThat(pairs.get("workload").asText()).isEqualTo("a");
        assertThat(pairs.get("figures").get("PAIRS_PER_SECOND").asDouble()).isPositive();
        // Not every JDK 17 counts them.
        assertThat(pairs.get("figures").path("CLIENT_BYTES").asDouble(1)).isPositive();
        assertThat(outcome.text()).contains("s/1,000 turns", "threads/client", "direct kB/client");
        assertThat(run("--from", json.toString()).text()).isEqualTo(outcome.text());
    }

    @Test
    void variantsOfASeriesShareATable() {
        List<Sample> samples = List.of(sample("few"), sample("many"));
        RunRecord run = new RunRecord(Map.of("machine", "quiet"), samples);
        Map<String, String> titles = Map.of("grow", "more and more");
        assertThat(new Report(run, titles, Set.of("grow")).text())
                .containsOnlyOnce("grow. more and more\n")
                .contains("few, leasehold", "many, leasehold");
        assertThat(new Report(run, titles, Set.of()).text())
                .contains("grow. more and more – few\n", "grow. more and more – many\n");
    }

    @Test
    void severalRunsAreReportedAsOne() throws IOException {
        Path first = write("first", Map.of("machine", "quiet", "begun", "today"), sample("few"));
        Path second = write("second", Map.of("machine", "quiet", "begun", "tomorrow"), sample("many"));
        assertThat(run("--from", first + "," + second).text())
                .contains("machine: quiet\n", "begun: today; tomorrow\n", "– few\n", "– many\n");
    }

    private Path write(String name, Map<String, String> conditions, Sample sample) throws IOException {
        Path file = folder.resolve(name);
        new ObjectMapper().writeValue(file.toFile(), new RunRecord(conditions, List.of(sample)));
        return file;
    }

    private static Sample sample(String variant) {
        return new Sample("grow", variant, PeerKind.LEASEHOLD, 0, Map.of(Figure.PAIRS_PER_SECOND, 17.0), Map.of());
    }

    @Test
    void nonsenseIsRefused() {
        assertThat(run("z").exitCode()).isEqualTo(64);
        assertThat(run("--peers", "paper").exitCode()).isEqualTo(64);
        assertThat(run("--rounds", "-1").exitCode()).isEqualTo(64);
        assertThat(run("--list").text()).contains("a\t", "e\t", "f\tRedlock", "scale-waiters\t", "curator", "shedlock");
    }
}
