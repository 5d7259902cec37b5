package io.leasehold.jdbc;

import io.leasehold.servers.PortReservation;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.DriverManager;
import java.util.ArrayList;
import java.util.List;

/** A real PgBouncer in transaction mode in front of a PostgreSQL server; without one, tests are skipped visibly. */
final class PgBouncer implements AutoCloseable {

    private final ServerProcess process;
    private final int port;

    private PgBouncer(ServerProcess process, int port) {
        this.process = process;
        this.port = port;
    }

    static PgBouncer start(Path directory, int serverPort) throws IOException {
        Path program = ServerProcess.find("pgbouncer", "pgbouncer");
        int port = PortReservation.forThisJvm();
        Files.createDirectories(directory);
        Path configuration = directory.resolve("pgbouncer.ini");
        // Few sessions for many clients, so that the transactions of one client really use several.
        Files.writeString(configuration, """
                [databases]
                postgres = host=127.0.0.1 port=%d dbname=postgres user=postgres
                [pgbouncer]
                listen_addr = 127.0.0.1
                listen_port = %d
                unix_socket_dir =
                auth_type = any
                pool_mode = transaction
                default_pool_size = 3
                max_client_conn = 200
                ignore_startup_parameters = extra_float_digits
                """.formatted(serverPort, port));
        List<String> command = new ArrayList<>(List.of(program.toString()));
        if (System.getProperty("user.name").equals("root")) {
            // It refuses to run as root, and must be able to read its configuration.
            for (Path part = directory; part != null && !part.equals(Path.of("/tmp")); part = part.getParent()) {
                Files.setPosixFilePermissions(part, PosixFilePermissions.fromString("rwxr-xr-x"));
            }
            command.addAll(List.of("-u", "nobody"));
        }
        command.add(configuration.toString());
        ServerProcess process = ServerProcess.start(directory.resolve("pgbouncer.log"), command);
        PgBouncer started = new PgBouncer(process, port);
        process.awaitConnection(() -> DriverManager.getConnection(started.url()));
        return started;
    }

    String url() {
        return "jdbc:postgresql://127.0.0.1:" + port + "/postgres?user=postgres";
    }

    @Override
    public void close() {
        process.close();
    }
}
