package io.leasehold.jdbc.sqlite;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** File systems as this machine's operating system lists them. */
final class MountedFileSystems implements FileSystems {

    private static final Path MOUNTS = Path.of("/proc/self/mountinfo");

    @Override
    public String typeOf(Path existing) throws IOException {
        Path real = existing.toRealPath();
        MountTable table = mounts();
        MountTable.Mount mount = table == null ? null : table.of(bytes(real));
        // The JDK uses the first of several mounts at one place, which is hidden by the others.
        return mount == null ? Files.getFileStore(real).type() : mount.type();
    }

    @Override
    public boolean isMountPoint(Path file) throws IOException {
        MountTable table = mounts();
        return table != null && table.isMountPoint(bytes(file.toRealPath()));
    }

    /** Null if there is no such file. */
    private static @Nullable MountTable mounts() {
        try {
            return MountTable.parse(Files.readAllBytes(MOUNTS));
        } catch (IOException e) {
            return null;
        }
    }

    /** The path's bytes, each in one character: as text it would depend on the locale. */
    static String bytes(Path path) {
        String encoded = path.toUri().getRawPath();
        ByteArrayOutputStream decoded = new ByteArrayOutputStream(encoded.length());
        int at = 0;
        while (at < encoded.length()) {
            char c = encoded.charAt(at);
            if (c == '%') {
                decoded.write(Integer.parseInt(encoded.substring(at + 1, at + 3), 16));
                at += 3;
            } else {
                decoded.write(c);
                at++;
            }
        }
        String text = decoded.toString(StandardCharsets.ISO_8859_1);
        return text.length() > 1 && text.endsWith("/") ? text.substring(0, text.length() - 1) : text;
    }
}
