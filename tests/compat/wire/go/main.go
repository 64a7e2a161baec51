// SPDX-License-Identifier: Apache-2.0

// One socket of go-zeromq/zmq4 that does what standard input says; ../README.md has the commands.
package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-zeromq/zmq4"
)

var mark = []byte("mark")

func part(message, part, size int) []byte {
	if size == 0 {
		return []byte{}
	}
	whole := []byte(fmt.Sprintf("%d.%d|", message, part))
	for len(whole) < size {
		whole = append(whole, byte('a'+message%26))
	}
	return whole
}

func message(number, size, parts int) zmq4.Msg {
	frames := make([][]byte, parts)
	for p := range frames {
		frames[p] = part(number, p, size)
	}
	return zmq4.NewMsgFrom(frames...)
}

func isMark(received zmq4.Msg) bool {
	return len(received.Frames) == 1 && bytes.Equal(received.Frames[0], mark)
}

type role struct{ socket zmq4.Socket }

func (r role) expect(number, size, parts int) error {
	for {
		received, err := r.socket.Recv()
		if err != nil {
			return err
		}
		if isMark(received) {
			continue
		}
		if len(received.Frames) != parts {
			return fmt.Errorf("message %d has %d parts, not %d", number, len(received.Frames), parts)
		}
		for p, frame := range received.Frames {
			if !bytes.Equal(frame, part(number, p, size)) {
				return fmt.Errorf("message %d is not the one received: %.40q", number, frame)
			}
		}
		return nil
	}
}

func (r role) send(number, size, parts int) error {
	return r.socket.SendMulti(message(number, size, parts))
}

func each(first, count int, step func(int) error) (int, error) {
	for i := first; i < first+count; i++ {
		if err := step(i); err != nil {
			return i - first, fmt.Errorf("at %d: %w", i, err)
		}
	}
	return count, nil
}

func (r role) run(words []string) (int, error) {
	var number [5]int
	for i, word := range words[1:] {
		number[i+1], _ = strconv.Atoi(word)
	}
	first, count, size, parts := number[1], number[2], number[3], number[4]
	switch words[0] {
	case "send":
		return each(first, count, func(i int) error { return r.send(i, size, parts) })
	case "recv":
		return each(first, count, func(i int) error { return r.expect(i, size, parts) })
	case "request":
		return each(first, count, func(i int) error {
			if err := r.send(i, size, parts); err != nil {
				return err
			}
			return r.expect(i, size, parts)
		})
	case "echo":
		return each(0, number[1], func(int) error {
			received, err := r.socket.Recv()
			if err != nil {
				return err
			}
			return r.socket.SendMulti(received)
		})
	case "mark":
		return 1, r.socket.Send(zmq4.NewMsg(mark))
	case "await":
		for {
			received, err := r.socket.Recv()
			if err != nil || isMark(received) {
				return 1, err
			}
		}
	}
	return 0, fmt.Errorf("unknown command %q", words[0])
}

var makers = map[string]func(context.Context, ...zmq4.Option) zmq4.Socket{
	"push": zmq4.NewPush, "pull": zmq4.NewPull, "req": zmq4.NewReq, "rep": zmq4.NewRep,
	"pub": zmq4.NewPub, "sub": zmq4.NewSub, "xpub": zmq4.NewXPub, "xsub": zmq4.NewXSub,
	"dealer": zmq4.NewDealer, "router": zmq4.NewRouter, "pair": zmq4.NewPair,
}

func open(kind, how, endpoint string) (zmq4.Socket, error) {
	socket := makers[kind](context.Background(), zmq4.WithDialerRetry(50*time.Millisecond))
	if kind == "sub" {
		if err := socket.SetOption(zmq4.OptionSubscribe, ""); err != nil {
			return nil, err
		}
	}
	var err error
	if how == "bind" {
		err = socket.Listen(endpoint)
	} else {
		err = socket.Dial(endpoint)
	}
	if err == nil && kind == "xsub" {
		err = socket.Send(zmq4.NewMsg([]byte{1}))
	}
	return socket, err
}

func main() {
	socket, err := open(os.Args[1], os.Args[2], os.Args[3])
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	defer socket.Close()
	fmt.Println("ready")
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() && input.Text() != "quit" {
		count, err := role{socket}.run(strings.Fields(input.Text()))
		if err != nil {
			fmt.Println("error", err)
		} else {
			fmt.Println("done", count)
		}
	}
}
