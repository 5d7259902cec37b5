package io.leasehold.testkit.tck;

import io.leasehold.fencing.Access;
import io.leasehold.fencing.Admission;
import io.leasehold.fencing.FencedFile;
import io.leasehold.fencing.FencingGuard;
import io.leasehold.fencing.StaleTokenException;
import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;

/** A file answers as any guard: each admission is a read. */
@Tag("quick")
final class FileGuardTest implements FencingGuardTck {

    @TempDir
    private Path directory;

    @Override
    public FencingGuard guard() {
        return new OfFiles(directory);
    }

    private record OfFiles(Path directory) implements FencingGuard {
        @Override
        public Admission admit(String resource, long token) {
            return admit(resource, token, Access.WRITE);
        }

        @Override
        public Admission admit(String resource, long token, Access access) {
            try {
                FencedFile.at(directory.resolve(resource)).read(token, access);
                return new Admission.Admitted(resource, token);
            } catch (StaleTokenException stale) {
                return stale.rejection();
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        }
    }
}
