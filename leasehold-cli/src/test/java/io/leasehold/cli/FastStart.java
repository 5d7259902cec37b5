package io.leasehold.cli;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/**
 * Options with which a JVM starts the program of this class path from a class-data archive, as the launcher does: tests start it many
 * hundred times, and a start takes two thirds of the processor time.
 */
final class FastStart {

    private static final Path DIRECTORY =
            Path.of("target", "starts-" + ProcessHandle.current().pid()).toAbsolutePath();

    private static final List<String> OPTIONS = prepare();

    private FastStart() {}

    /** The class path, and the archive if this JVM could make one. */
    static List<String> options() {
        return OPTIONS;
    }

    private static List<String> prepare() {
        try {
            deleteAtExit(Files.createDirectories(DIRECTORY));
            String classPath = asArchives(System.getProperty("java.class.path"));
            Path archive = deleteAtExit(DIRECTORY.resolve("classes.jsa"));
            Path store = deleteAtExit(DIRECTORY.resolve("locks.db"));
            List<String> rehearsal = new ArrayList<>(StartedCli.JVM);
            rehearsal.addAll(
                    List.of("-XX:ArchiveClassesAtExit=" + archive, "-cp", classPath, "io.leasehold.cli.Rehearsal"));
            ProcessBuilder builder = new ProcessBuilder(rehearsal)
                    .redirectErrorStream(true)
                    .redirectOutput(deleteAtExit(DIRECTORY.resolve("log")).toFile());
            builder.environment().put(StoreOption.VARIABLE, "sqlite:" + store);
            builder.start().waitFor();
            return Files.exists(archive)
                    ? List.of("-XX:SharedArchiveFile=" + archive, "-cp", classPath)
                    : List.of("-cp", classPath);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    /** A JVM shares no classes from directories, so each of them becomes an archive. */
    private static String asArchives(String classPath) throws IOException {
        List<String> entries = new ArrayList<>();
        for (String entry : classPath.split(File.pathSeparator, -1)) {
            Path place = Path.of(entry);
            entries.add(Files.isDirectory(place) ? packed(place, entries.size()).toString() : entry);
        }
        return String.join(File.pathSeparator, entries);
    }

    private static Path packed(Path directory, int number) throws IOException {
        Path packed = deleteAtExit(DIRECTORY.resolve(number + ".jar"));
        try (OutputStream out = Files.newOutputStream(packed);
                ZipOutputStream zip = new ZipOutputStream(out);
                Stream<Path> files = Files.walk(directory)) {
            zip.setLevel(1);
            for (Path file : (Iterable<Path>) files.filter(Files::isRegularFile)::iterator) {
                zip.putNextEntry(
                        new ZipEntry(directory.relativize(file).toString().replace(File.separatorChar, '/')));
                Files.copy(file, zip);
                zip.closeEntry();
            }
        }
        return packed;
    }

    private static Path deleteAtExit(Path file) {
        file.toFile().deleteOnExit();
        return file;
    }
}
