package io.leasehold.engine;

import io.leasehold.spi.LockRuntime;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.HexFormat;

/** The public id of a client: {@code host/pid/client} or {@code host/pid/client/label}. */
final class HolderId {

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
            try {
                name = InetAddress.getLocalHost().getHostName();
            } catch (UnknownHostException e) {
                name = "unknown-host";
            }
        }
        return name.replaceAll("[^A-Za-z0-9._-]", "_");
    }
}
