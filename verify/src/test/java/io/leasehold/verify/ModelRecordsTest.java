package io.leasehold.verify;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code verify/model/run --changed} takes a recorded result only for the same model and bounds, and repeats it to find a false one. */
@Tag("full")
final class ModelRecordsTest {

    private static final Path RECORDS = Path.of("..", "docs", "proof", "model.tsv");

    /** A check of few states. */
    private static final String CHECK = "yield-is-reached";

    @TempDir
    Path directory;

    @Test
    void anUnchangedCheckIsTakenAndRepeated() throws Exception {
        assertThat(check(Files.readString(RECORDS), 0))
                .contains("1 checks have not changed", "1 of them were run again", "1 goals reached");
    }

    @Test
    void aCheckOfAnotherDigestRuns() throws Exception {
        String other = recorded().replaceAll("\t[0-9a-f]{16}\t", "\t0123456789abcdef\t");

        assertThat(check(other, 0)).contains("0 checks have not changed", "1 goals reached");
    }

    @Test
    void aRecordOfOtherStatesIsFound() throws Exception {
        String[] cells = recorded().split("\t", -1);
        cells[3] += "0";

        assertThat(check(String.join("\t", cells), 1)).contains("differs from its record", "1 surprises");
    }

    private static String recorded() throws IOException {
        return Files.readAllLines(RECORDS).stream()
                .filter(line -> line.startsWith(CHECK + "\t"))
                .findFirst()
                .orElseThrow();
    }

    private String check(String records, int expected) throws IOException, InterruptedException {
        Path file = directory.resolve("model.tsv");
        Files.writeString(file, records.startsWith("check\t") ? records : "check\n" + records + "\n");
        ProcessBuilder builder = new ProcessBuilder("bash", "model/run", "--changed", CHECK).redirectErrorStream(true);
        builder.environment().put("LEASEHOLD_MODEL_RECORDS", file.toString());
        Process run = builder.start();
        run.getOutputStream().close();
        String said = new String(run.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertThat(run.waitFor()).as(said).isEqualTo(expected);
        return said;
    }
}
