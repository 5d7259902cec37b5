package io.leasehold.verify.client;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Writer;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.OptionalLong;

/** A connection to the protected resource. For one thread. */
final class ResourceLink implements AutoCloseable {

    private final Socket socket;
    private final BufferedReader in;
    private final Writer out;

    ResourceLink(int port) throws IOException {
        socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setTcpNoDelay(true);
        in = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
        out = new java.io.OutputStreamWriter(socket.getOutputStream(), StandardCharsets.UTF_8);
    }

    /** The counter's value, or empty if the resource refused the token. */
    OptionalLong read(String counter, long token) throws IOException {
        return ask("READ " + counter + " " + token);
    }

    /** The same for a holder that only reads. */
    OptionalLong look(String counter, long token) throws IOException {
        return ask("LOOK " + counter + " " + token);
    }

    /** Whether the resource acknowledged the update. */
    boolean write(String counter, long token, long value) throws IOException {
        return ask("WRITE " + counter + " " + token + " " + value).isPresent();
    }

    private OptionalLong ask(String request) throws IOException {
        out.write(request + "\n");
        out.flush();
        String answer = in.readLine();
        if (answer == null) {
            throw new IOException("the resource closed the connection");
        }
        return answer.startsWith("OK ") ? OptionalLong.of(Long.parseLong(answer.substring(3))) : OptionalLong.empty();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
