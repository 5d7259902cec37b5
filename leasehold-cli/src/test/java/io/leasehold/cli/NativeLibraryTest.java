package io.leasehold.cli;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.sqlite.util.LibraryLoaderUtil;

/** What the launcher unpacks is the library that the driver would unpack. */
@Tag("quick")
class NativeLibraryTest {

    @TempDir
    Path directory;

    @Test
    void replacesAnOlderLibraryAndLeavesNothingElse() throws Exception {
        Path old = Files.writeString(directory.resolve(LibraryLoaderUtil.getNativeLibName()), "an older one");

        NativeLibrary.main(new String[] {directory.toString()});

        String resource = LibraryLoaderUtil.getNativeLibResourcePath() + "/" + LibraryLoaderUtil.getNativeLibName();
        try (InputStream content = Objects.requireNonNull(LibraryLoaderUtil.class.getResourceAsStream(resource))) {
            assertThat(old).hasBinaryContent(content.readAllBytes());
        }
        assertThat(directory).isDirectoryNotContaining(file -> !file.equals(old));
    }

    @Test
    void keepsTheOldLibraryIfTheNewOneCannotBeLoaded() throws Exception {
        Path old = Files.writeString(directory.resolve("library"), "an older one");
        var damaged = new ByteArrayInputStream("half a library".getBytes(US_ASCII));

        assertThatThrownBy(() -> NativeLibrary.replace(old, damaged)).isInstanceOf(UnsatisfiedLinkError.class);

        assertThat(old).hasContent("an older one");
        assertThat(directory).isDirectoryNotContaining(file -> !file.equals(old));
    }
}
