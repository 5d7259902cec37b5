package io.leasehold.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests of the files that the launcher of a release finds and makes, with a Java that only writes down how it was started. */
@Tag("quick")
class LauncherFilesTest {

    private static final String JAVA = """
        #!/bin/sh
        echo "$*" >>"$STARTS"
        case $* in
          *-Xshare:dump*)
            for word; do
              case $word in -XX:SharedArchiveFile=*) echo archive >"${word#*=}" ;; esac
            done
            ;;
          *-XX:DumpLoadedClassList=*)
            if [ -n "${INTERRUPTED-}" ]; then
              trap 'exit 130' INT
              kill -s INT 0
            fi
            ;;
        esac
        """;

    /** Which some systems have as {@code sh}. */
    private static final List<String> BASH =
            Files.isExecutable(Path.of("/bin/bash")) ? List.of("/bin/bash", "--posix") : List.of("/bin/sh");

    private static final int NOBODY = 65_534;

    @TempDir
    private Path directory;

    private Path release;
    private Path java;

    @BeforeEach
    void unpackTheRelease() throws IOException {
        release = Files.createDirectories(directory.resolve("opt/leasehold"));
        Files.copy(Path.of("..", "leasehold"), release.resolve("leasehold"));
        Files.writeString(release.resolve("leasehold.jar"), "version 1");
        java = directory.resolve("java");
        Path program = Files.createDirectories(java.resolve("bin")).resolve("java");
        Files.writeString(program, JAVA);
        Files.setPosixFilePermissions(program, PosixFilePermissions.fromString("rwxr-xr-x"));
        javaVersion("17.0.1");
        Files.createDirectories(directory.resolve("tmp"));
    }

    private void javaVersion(String version) throws IOException {
        Files.writeString(java.resolve("release"), "JAVA_VERSION=\"" + version + "\"\n");
    }

    private record Ended(int exitCode, String said) {}

    private Ended start(Path in, String... words) throws IOException, InterruptedException {
        ProcessBuilder shell = new ProcessBuilder(words).directory(in.toFile()).redirectErrorStream(true);
        shell.environment().put("JAVA_HOME", java.toString());
        shell.environment().put("XDG_CACHE_HOME", directory.resolve("cache").toString());
        shell.environment().put("TMPDIR", directory.resolve("tmp").toString());
        shell.environment().put("STARTS", directory.resolve("starts").toString());
        shell.environment().remove("LEASEHOLD_STORE");
        Process process = shell.start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        return new Ended(process.waitFor(), said);
    }

    private Ended run() throws IOException, InterruptedException {
        return start(directory, "/bin/sh", release.resolve("leasehold").toString(), "run", "job", "--", "true");
    }

    private List<String> filesIn(String folder) throws IOException {
        try (Stream<Path> files = Files.walk(directory.resolve(folder))) {
            return files.filter(Files::isRegularFile)
                    .map(file -> file.getFileName().toString())
                    .toList();
        }
    }

    @Test
    void preparesOnceAndThenStartsWithWhatItPrepared() throws Exception {
        assertThat(run().said()).contains("preparing for fast starts with Java 17.0.1");
        assertThat(lastStart()).contains("-17.0.1-sqlite.jsa ", " io.leasehold.cli.Main run job -- true");
    }

    /** An upgrade of Java replaces the program that starts all others, which then refuses the JVM that runs already. */
    @Test
    void startsProgramsWithoutAFileThatAnUpgradeReplaces() throws Exception {
        assumeTrue(Files.exists(Path.of("/proc/sys/kernel/ostype")), "only Linux has this way");
        run();
        assertThat(lastStart()).contains(" -Djdk.lang.Process.launchMechanism=VFORK ");
        javaVersion("25");
        run();
        assertThat(lastStart()).as("Java 25 prints a warning").doesNotContain("launchMechanism");
    }

    @Test
    void preparesWithoutATemporaryFolder() throws Exception {
        Files.delete(directory.resolve("tmp"));
        assertThat(run().said().lines())
                .singleElement()
                .asString()
                .contains("preparing for fast starts with Java 17.0.1");
        assertThat(lastStart()).contains("-17.0.1-sqlite.jsa ");
        try (Stream<Path> files = Files.walk(directory.resolve("cache"))) {
            assertThat(files).noneMatch(file -> file.getFileName().toString().startsWith("scratch"));
        }
    }

    /** Packages install files with the time of their build, which is before the archive of the previous version was made. */
    @Test
    void preparesAgainForAnUpgradeThatIsOlderThanItsArchive() throws Exception {
        run();
        Files.writeString(release.resolve("leasehold.jar"), "version 2");
        Files.setLastModifiedTime(
                release.resolve("leasehold.jar"), FileTime.from(Instant.parse("2025-01-01T00:00:00Z")));
        assertThat(run().said()).contains("preparing for fast starts");
        assertThat(run().said()).isEmpty();
        Files.setLastModifiedTime(java.resolve("release"), FileTime.from(Instant.parse("2025-05-01T00:00:00Z")));
        assertThat(run().said()).contains("preparing for fast starts");
        assertThat(run().said()).isEmpty();
    }

    @Test
    void preparesAgainForAnotherVersionOfTheSameJava() throws Exception {
        run();
        FileTime before = Files.getLastModifiedTime(java.resolve("release"));
        javaVersion("17.0.2");
        Files.setLastModifiedTime(java.resolve("release"), before);
        assertThat(run().said()).contains("preparing for fast starts with Java 17.0.2");
        assertThat(run().said()).isEmpty();
        // Machines with one home may have different versions.
        javaVersion("17.0.1");
        Files.setLastModifiedTime(java.resolve("release"), before);
        assertThat(run().said()).isEmpty();
    }

    /** The JVM runs code from its archive and from the native library. */
    @Test
    void usesNoFileOfAnotherUser() throws Exception {
        assumeTrue(
                "root".equals(System.getProperty("user.name")), "only root may give files away: run the tests as root");
        run();
        Path archive = onlyOne("cache", ".jsa");
        Path library = Files.writeString(
                Files.createDirectories(archive.resolveSibling("native")).resolve("libsqlitejdbc.so"), "code");
        Path jar = release.resolve("leasehold.jar");
        Files.writeString(
                library.resolveSibling("of"),
                Files.size(jar) + " " + Files.getLastModifiedTime(jar).to(TimeUnit.SECONDS) + "\n");
        assertThat(lastStart()).contains(archive.toString(), library.getParent().toString());
        giveAway(library);
        assertThat(lastStart()).contains(archive.toString()).doesNotContain("org.sqlite.lib.path");
        for (Path foreign : List.of(archive, archive.getParent(), directory.resolve("cache"))) {
            takeBack(library);
            giveAway(foreign);
            assertThat(lastStart()).as(foreign.toString()).doesNotContain("jsa").doesNotContain("org.sqlite.lib.path");
            takeBack(foreign);
            assertThat(lastStart())
                    .contains(archive.toString(), library.getParent().toString());
        }
    }

    private static void giveAway(Path file) throws IOException {
        Files.setAttribute(file, "unix:uid", NOBODY);
    }

    private static void takeBack(Path file) throws IOException {
        Files.setAttribute(file, "unix:uid", 0);
    }

    private Path onlyOne(String folder, String ending) throws IOException {
        try (Stream<Path> files = Files.walk(directory.resolve(folder))) {
            return files.filter(file -> file.toString().endsWith(ending))
                    .reduce((one, other) -> {
                        throw new AssertionError(one + " and " + other);
                    })
                    .orElseThrow();
        }
    }

    /** Starts, and returns how Java was started for that. */
    private String lastStart() throws IOException, InterruptedException {
        assertThat(run()).isEqualTo(new Ended(0, ""));
        List<String> starts = Files.readAllLines(directory.resolve("starts"));
        return starts.get(starts.size() - 1);
    }

    /** The JVM exits when it is interrupted, which some shells take for handled. */
    @Test
    void anInterruptionOfThePreparationEndsTheStart() throws Exception {
        assumeTrue(Files.isExecutable(Path.of("/usr/bin/setsid")), "no setsid: apt-get install util-linux");
        for (List<String> shell : List.of(List.of("/bin/sh"), BASH)) {
            // A build in the background ignores interruptions, and so would its shells.
            List<String> words = new ArrayList<>(List.of("setsid", "-w"));
            words.addAll(StartedCli.SIGNALS_AS_USUAL);
            words.addAll(List.of("env", "INTERRUPTED=yes"));
            words.addAll(shell);
            words.addAll(List.of(release.resolve("leasehold").toString(), "run", "job", "--", "true"));
            Files.deleteIfExists(directory.resolve("starts"));
            assertThat(start(directory, words.toArray(String[]::new)).exitCode())
                    .as(shell.toString())
                    .isEqualTo(130);
            assertThat(Files.readAllLines(directory.resolve("starts")))
                    .as(shell.toString())
                    .noneMatch(line -> line.contains("Main run"));
            assertThat(filesIn("cache")).noneMatch(name -> name.endsWith(".jsa"));
            assertThat(directory.resolve("tmp")).isEmptyDirectory();
        }
        assertThat(run().said()).contains("preparing for fast starts");
    }

    /** The system resolves a relative link from the folder that has it, which may be reached by a link itself. */
    @Test
    void findsItsFolderBehindLinks() throws Exception {
        Path bin = Files.createDirectories(directory.resolve("home/dotfiles/bin"));
        Files.createSymbolicLink(bin.resolve("leasehold"), Path.of("../../../opt/leasehold/leasehold"));
        Path link = Files.createSymbolicLink(directory.resolve("bin"), bin);
        assertThat(start(directory, "sh", link.resolve("leasehold").toString(), "--version")
                        .exitCode())
                .isZero();
        Files.createSymbolicLink(release.resolve("link"), Path.of("leasehold"));
        assertThat(start(release, "sh", "link", "--version").exitCode()).isZero();
    }

    @Test
    void withoutAHomeItMakesNoFolder() throws Exception {
        Path nowhere = Path.of("/nonexistent");
        boolean before = Files.exists(nowhere);
        Ended ended = start(
                directory,
                "env",
                "-u",
                "HOME",
                "-u",
                "XDG_CACHE_HOME",
                "/bin/sh",
                release.resolve("leasehold").toString(),
                "--version");
        assertThat(ended).isEqualTo(new Ended(0, ""));
        assertThat(Files.exists(nowhere)).isEqualTo(before);
    }
}
