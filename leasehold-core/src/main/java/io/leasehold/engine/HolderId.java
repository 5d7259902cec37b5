package io.leasehold.engine;

import io.leasehold.spi.LockRuntime;
import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.regex.Pattern;

/** The public id of a client: {@code host/pid/client} or {@code host/pid/client/label}. */
final class HolderId {

    private static final Path KERNELS_NAME = Path.of("/proc/sys/kernel/hostname");
    private static final Pattern ODD = Pattern.compile("[^A-Za-z0-9._-]");

    private HolderId() {}

    static String of(LockRuntime runtime, String label) {
        byte[] client = new byte[4];
        runtime.randomBytes(client);
        String id = host() + "/" + ProcessHandle.current().pid() + "/"
                + HexFormat.of().formatHex(client);
        return label.isEmpty() ? id : id + "/" + label;
    }

    private static String host() {
        String name = System.getenv("HOSTNAME");
        if (name == null || name.isBlank()) {
            name = known();
        }
        return ODD.matcher(name).replaceAll("_");
    }

    /** The name of this host. The kernel of Linux tells it at once; elsewhere a resolver is asked, which can take seconds. */
    static String known() {
        try {
            String kernels = Files.readString(KERNELS_NAME).strip();
            if (!kernels.isEmpty()) {
                return kernels;
            }
        } catch (IOException notLinux) {
            // The resolver knows it.
        }
        try {
            return InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException e) {
            return "unknown-host";
        }
    }
}
