package io.leasehold.checks;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** The public API of each published library is committed as text, so that every change of it is deliberate. */
@Tag("quick")
class ApiTextTest {

    private static final String UPDATE = "./mvnw -pl checks -am test -Dtest='Api*Test' -Dapi.update=true";

    @ParameterizedTest
    @EnumSource(
            names = {
                "CORE",
                "REDIS",
                "JEDIS",
                "JDBC",
                "ZOOKEEPER",
                "ETCD",
                "REACTOR",
                "KOTLIN",
                "CDI",
                "SPRING",
                "SPRING_BOOT_TEST",
                "SHEDLOCK",
                "SPRING_INTEGRATION",
                "DB_SCHEDULER",
                "SERVERS",
                "TESTKIT",
                "SIMULATOR"
            })
    void publicApiIsTheCommittedOne(Module module) throws IOException {
        Path file = module.folder().resolve("api").resolve(module.folder().getFileName() + ".api");
        List<String> actual = module.hasSources() ? text(module) : List.of();
        if (Boolean.getBoolean("api.update")) {
            write(file, actual);
            return;
        }
        List<String> committed = Files.exists(file) ? Files.readAllLines(file) : List.of();
        List<String> difference = LineDiff.between(committed, actual);
        if (!difference.isEmpty()) {
            fail("The public API of " + module.moduleName() + " is not the one in " + Module.shown(file)
                    + ".\nIf the change is meant, run\n\n    " + UPDATE + "\n\nand commit the file. What changed:\n\n"
                    + String.join("\n", difference) + "\n");
        }
        assertThat(actual).isEqualTo(committed);
    }

    private static List<String> text(Module module) {
        List<String> lines = new ArrayList<>();
        lines.add("# The public API of " + module.moduleName() + ", one type after the other. Written by: " + UPDATE);
        lines.addAll(new ApiText(module).lines());
        return lines;
    }

    private static void write(Path file, List<String> lines) throws IOException {
        if (lines.isEmpty()) {
            Files.deleteIfExists(file);
            return;
        }
        Files.createDirectories(file.getParent());
        Files.writeString(file, String.join("\n", lines) + "\n");
    }
}
