package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** The command line of the previous wire version: its classes, kept as a fixture, with the current drivers. */
final class PreviousClient {

    private static final Path CLASSES = Path.of("src", "test", "previous", "leasehold-wire-1.jar");

    /**
     * The entry of a module of Leasehold on Maven's class path: its classes during the build, an archive afterwards.
     */
    private static final Pattern MODULE_OF_TODAY = Pattern.compile(
            "leasehold-[a-z-]+/target/((test-)?classes|leasehold-[^/]*\\.jar)$|/leasehold-[a-z-]+-[0-9][^/]*\\.jar$");

    private PreviousClient() {}

    /** Its class path, without any current class. */
    static String classPath() {
        assertThat(CLASSES).isRegularFile();
        List<String> entries = new ArrayList<>(List.of(CLASSES.toAbsolutePath().toString()));
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            if (!isOfToday(entry)) {
                entries.add(entry);
            }
        }
        return String.join(File.pathSeparator, entries);
    }

    private static boolean isOfToday(String entry) {
        Path path = Path.of(entry);
        return MODULE_OF_TODAY.matcher(entry).find()
                || Files.exists(path.resolve("io").resolve("leasehold"))
                || path.endsWith(Path.of("target", "test-classes"));
    }
}
