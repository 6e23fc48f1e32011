#!/bin/sh
./greeter
